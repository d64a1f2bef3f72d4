check_PROGRAMS += tests/unit/h2/flow_test
tests_unit_h2_flow_test_SOURCES = tests/unit/h2/flow_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/peer.h
tests_unit_h2_flow_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/framing_test
tests_unit_h2_framing_test_SOURCES = tests/unit/h2/framing_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_framing_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/goaway_test
tests_unit_h2_goaway_test_SOURCES = tests/unit/h2/goaway_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/serve_world.h
tests_unit_h2_goaway_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/headers_in_test
tests_unit_h2_headers_in_test_SOURCES = tests/unit/h2/headers_in_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_headers_in_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/headers_test
tests_unit_h2_headers_test_SOURCES = tests/unit/h2/headers_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_headers_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/keepalive_cases_test
tests_unit_h2_keepalive_cases_test_SOURCES = tests/unit/h2/keepalive_cases_test.c tests/unit/h2/pings.h tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_keepalive_cases_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/keepalive_glue_test
tests_unit_h2_keepalive_glue_test_SOURCES = tests/unit/h2/keepalive_glue_test.c tests/unit/h2/pings.h tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_keepalive_glue_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/keepalive_many_test
tests_unit_h2_keepalive_many_test_SOURCES = tests/unit/h2/keepalive_many_test.c
tests_unit_h2_keepalive_many_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/keepalive_server_test
tests_unit_h2_keepalive_server_test_SOURCES = tests/unit/h2/keepalive_server_test.c tests/unit/h2/serve_world.h tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_keepalive_server_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/mutation_test
tests_unit_h2_mutation_test_SOURCES = tests/unit/h2/mutation_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/mutate.h
tests_unit_h2_mutation_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/ping_test
tests_unit_h2_ping_test_SOURCES = tests/unit/h2/ping_test.c tests/unit/h2/pings.h tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/base/counting_allocator.h
tests_unit_h2_ping_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/preface_test
tests_unit_h2_preface_test_SOURCES = tests/unit/h2/preface_test.c
tests_unit_h2_preface_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/recv_test
tests_unit_h2_recv_test_SOURCES = tests/unit/h2/recv_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_recv_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/send_test
tests_unit_h2_send_test_SOURCES = tests/unit/h2/send_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/peer.h
tests_unit_h2_send_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/session_cb_test
tests_unit_h2_session_cb_test_SOURCES = tests/unit/h2/session_cb_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_session_cb_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/session_test
tests_unit_h2_session_test_SOURCES = tests/unit/h2/session_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/base/counting_allocator.h
tests_unit_h2_session_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/stream_test
tests_unit_h2_stream_test_SOURCES = tests/unit/h2/stream_test.c tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_stream_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/transport_test
tests_unit_h2_transport_test_SOURCES = tests/unit/h2/transport_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/peer.h
tests_unit_h2_transport_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/unsent_test
tests_unit_h2_unsent_test_SOURCES = tests/unit/h2/unsent_test.c tests/unit/base/counting_allocator.h
tests_unit_h2_unsent_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/write_timeout_test
tests_unit_h2_write_timeout_test_SOURCES = tests/unit/h2/write_timeout_test.c tests/unit/h2/pings.h tests/unit/h2/frames.h tests/unit/h2/world.h
tests_unit_h2_write_timeout_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/answer_test
tests_unit_h2_answer_test_SOURCES = tests/unit/h2/answer_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/serve_world.h
tests_unit_h2_answer_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/incoming_test
tests_unit_h2_incoming_test_SOURCES = tests/unit/h2/incoming_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/serve_world.h
tests_unit_h2_incoming_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/mutation_serving_test
tests_unit_h2_mutation_serving_test_SOURCES = tests/unit/h2/mutation_serving_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/serve_world.h tests/unit/h2/mutate.h
tests_unit_h2_mutation_serving_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/outbox_test
tests_unit_h2_outbox_test_SOURCES = tests/unit/h2/outbox_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/peer.h tests/unit/base/counting_allocator.h
tests_unit_h2_outbox_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/serving_test
tests_unit_h2_serving_test_SOURCES = tests/unit/h2/serving_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/serve_world.h tests/unit/base/counting_allocator.h
tests_unit_h2_serving_test_LDADD = $(UNIT_LIBS)

check_PROGRAMS += tests/unit/h2/streaming_test
tests_unit_h2_streaming_test_SOURCES = tests/unit/h2/streaming_test.c tests/unit/h2/frames.h tests/unit/h2/world.h tests/unit/h2/duo.h
tests_unit_h2_streaming_test_LDADD = $(UNIT_LIBS)
