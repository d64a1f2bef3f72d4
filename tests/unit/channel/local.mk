# The rig: a channel on a fake clock, and scripted peers.
CHANNEL_RIG = tests/unit/channel/peer.c tests/unit/channel/peer.h tests/unit/channel/rig.c tests/unit/channel/rig.h

# A channel over a socketpair, and a scripted peer.
GIVEN = tests/unit/channel/given.h tests/unit/channel/peer.c tests/unit/channel/peer.h

# The same with streaming calls and a server that sees messages.
TOLD_RIG = $(CHANNEL_RIG) tests/unit/channel/told.c tests/unit/channel/told.h

check_PROGRAMS += \
	tests/unit/channel/call_arena_test \
	tests/unit/channel/call_callbacks_test \
	tests/unit/channel/call_cancel_test \
	tests/unit/channel/call_cost_test \
	tests/unit/channel/call_credit_test \
	tests/unit/channel/call_interop_test \
	tests/unit/channel/call_kinds_test \
	tests/unit/channel/call_messages_test \
	tests/unit/channel/call_oracle_test \
	tests/unit/channel/call_outside_test \
	tests/unit/channel/call_pool_test \
	tests/unit/channel/call_read_timeout_cost_test \
	tests/unit/channel/call_read_timeout_test \
	tests/unit/channel/call_receive_test \
	tests/unit/channel/call_run_test \
	tests/unit/channel/call_refusal_test \
	tests/unit/channel/call_flush_test \
	tests/unit/channel/call_retry_test \
	tests/unit/channel/call_send_small_test \
	tests/unit/channel/call_send_test \
	tests/unit/channel/call_start_test \
	tests/unit/channel/call_stream_cost_test \
	tests/unit/channel/call_stream_test \
	tests/unit/channel/call_test \
	tests/unit/channel/call_timeouts_test \
	tests/unit/channel/channel_dump_test \
	tests/unit/channel/channel_fd_end_test \
	tests/unit/channel/channel_fd_test \
	tests/unit/channel/channel_idle_race_test \
	tests/unit/channel/channel_idle_test \
	tests/unit/channel/channel_ping_test \
	tests/unit/channel/channel_queue_test \
	tests/unit/channel/channel_resolve_idle_test \
	tests/unit/channel/channel_resolve_test \
	tests/unit/channel/channel_rest_test \
	tests/unit/channel/channel_stats_test \
	tests/unit/channel/channel_test \
	tests/unit/channel/channel_watch_test \
	tests/unit/channel/failure_test \
	tests/unit/channel/options_test \
	tests/unit/channel/response_test \
	tests/unit/channel/subchannel_dial_test \
	tests/unit/channel/subchannel_pings_test \
	tests/unit/channel/subchannel_test \
	tests/unit/channel/trace_test

noinst_HEADERS += tests/unit/channel/sleeper.h

tests_unit_channel_call_callbacks_test_SOURCES = tests/unit/channel/call_callbacks_test.c $(TOLD_RIG)
tests_unit_channel_call_cancel_test_SOURCES = tests/unit/channel/call_cancel_test.c $(CHANNEL_RIG)
tests_unit_channel_call_pool_test_SOURCES = tests/unit/channel/call_pool_test.c $(CHANNEL_RIG)
tests_unit_channel_call_cost_test_SOURCES = tests/unit/channel/call_cost_test.c $(CHANNEL_RIG)
tests_unit_channel_call_credit_test_SOURCES = tests/unit/channel/call_credit_test.c $(TOLD_RIG)
tests_unit_channel_call_interop_test_SOURCES = tests/unit/channel/call_interop_test.c $(TOLD_RIG)
tests_unit_channel_call_kinds_test_SOURCES = tests/unit/channel/call_kinds_test.c $(TOLD_RIG)
tests_unit_channel_call_oracle_test_SOURCES = tests/unit/channel/call_oracle_test.c $(TOLD_RIG)
tests_unit_channel_call_outside_test_SOURCES = tests/unit/channel/call_outside_test.c $(TOLD_RIG)
tests_unit_channel_call_read_timeout_cost_test_SOURCES = tests/unit/channel/call_read_timeout_cost_test.c $(TOLD_RIG)
tests_unit_channel_call_read_timeout_test_SOURCES = tests/unit/channel/call_read_timeout_test.c $(TOLD_RIG)
tests_unit_channel_call_run_test_SOURCES = tests/unit/channel/call_run_test.c $(TOLD_RIG)
tests_unit_channel_call_receive_test_SOURCES = tests/unit/channel/call_receive_test.c $(TOLD_RIG)
tests_unit_channel_call_refusal_test_SOURCES = tests/unit/channel/call_refusal_test.c $(TOLD_RIG)
tests_unit_channel_call_flush_test_SOURCES = tests/unit/channel/call_flush_test.c $(TOLD_RIG)
tests_unit_channel_call_retry_test_SOURCES = tests/unit/channel/call_retry_test.c $(CHANNEL_RIG)
tests_unit_channel_call_send_small_test_SOURCES = tests/unit/channel/call_send_small_test.c $(TOLD_RIG)
tests_unit_channel_call_send_test_SOURCES = tests/unit/channel/call_send_test.c $(TOLD_RIG)
tests_unit_channel_call_start_test_SOURCES = tests/unit/channel/call_start_test.c $(TOLD_RIG)
tests_unit_channel_call_stream_cost_test_SOURCES = tests/unit/channel/call_stream_cost_test.c $(TOLD_RIG)
tests_unit_channel_call_stream_test_SOURCES = tests/unit/channel/call_stream_test.c $(CHANNEL_RIG)
tests_unit_channel_call_test_SOURCES = tests/unit/channel/call_test.c $(CHANNEL_RIG)
tests_unit_channel_call_timeouts_test_SOURCES = tests/unit/channel/call_timeouts_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_dump_test_SOURCES = tests/unit/channel/channel_dump_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_fd_test_SOURCES = tests/unit/channel/channel_fd_test.c $(GIVEN)
tests_unit_channel_channel_fd_end_test_SOURCES = tests/unit/channel/channel_fd_end_test.c $(GIVEN)
tests_unit_channel_channel_idle_race_test_SOURCES = tests/unit/channel/channel_idle_race_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_idle_test_SOURCES = tests/unit/channel/channel_idle_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_ping_test_SOURCES = tests/unit/channel/channel_ping_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_queue_test_SOURCES = tests/unit/channel/channel_queue_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_rest_test_SOURCES = tests/unit/channel/channel_rest_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_stats_test_SOURCES = tests/unit/channel/channel_stats_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_test_SOURCES = tests/unit/channel/channel_test.c $(CHANNEL_RIG)
tests_unit_channel_channel_watch_test_SOURCES = tests/unit/channel/channel_watch_test.c $(CHANNEL_RIG)
tests_unit_channel_subchannel_pings_test_SOURCES = tests/unit/channel/subchannel_pings_test.c $(CHANNEL_RIG)
tests_unit_channel_subchannel_test_SOURCES = tests/unit/channel/subchannel_test.c $(CHANNEL_RIG)

# The simulated world with names: its diary is tests/sim's.
TOWN = tests/unit/channel/town.h tests/sim/life.c tests/sim/life.h
tests_unit_channel_channel_resolve_idle_test_SOURCES = tests/unit/channel/channel_resolve_idle_test.c $(TOWN)
tests_unit_channel_channel_resolve_test_SOURCES = tests/unit/channel/channel_resolve_test.c $(TOWN)
tests_unit_channel_subchannel_dial_test_SOURCES = tests/unit/channel/subchannel_dial_test.c $(TOWN)
