check_PROGRAMS += \
	tests/unit/h2/answer_test \
	tests/unit/h2/flow_test \
	tests/unit/h2/framing_test \
	tests/unit/h2/goaway_test \
	tests/unit/h2/headers_in_test \
	tests/unit/h2/headers_test \
	tests/unit/h2/incoming_test \
	tests/unit/h2/keepalive_cases_test \
	tests/unit/h2/keepalive_glue_test \
	tests/unit/h2/keepalive_many_test \
	tests/unit/h2/keepalive_server_test \
	tests/unit/h2/known_fields_test \
	tests/unit/h2/mutation_serving_test \
	tests/unit/h2/mutation_test \
	tests/unit/h2/outbox_test \
	tests/unit/h2/ping_test \
	tests/unit/h2/preface_test \
	tests/unit/h2/recv_test \
	tests/unit/h2/send_test \
	tests/unit/h2/serving_test \
	tests/unit/h2/session_cb_test \
	tests/unit/h2/session_test \
	tests/unit/h2/stream_test \
	tests/unit/h2/streaming_test \
	tests/unit/h2/transport_test \
	tests/unit/h2/unsent_test \
	tests/unit/h2/write_timeout_test

noinst_HEADERS += \
	tests/unit/h2/blocks.h \
	tests/unit/h2/duo.h \
	tests/unit/h2/frames.h \
	tests/unit/h2/mutate.h \
	tests/unit/h2/peer.h \
	tests/unit/h2/pings.h \
	tests/unit/h2/serve_world.h \
	tests/unit/h2/world.h
