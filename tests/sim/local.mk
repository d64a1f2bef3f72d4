# SPDX-License-Identifier: MIT
#
# One channel, one scripted server, and a diary.
SIM_LIFE = tests/sim/life.c tests/sim/life.h

check_PROGRAMS += \
	tests/sim/call_cases_test \
	tests/sim/connect_cases_test \
	tests/sim/crowd_test \
	tests/sim/hostile_alarm_test \
	tests/sim/idle_cases_test \
	tests/sim/idle_test \
	tests/sim/keepalive_test \
	tests/sim/log_test \
	tests/sim/seed_test \
	tests/sim/time_test \
	tests/sim/walk_test \
	tests/sim/watch_hour_test

tests_sim_call_cases_test_SOURCES = tests/sim/call_cases_test.c $(SIM_LIFE)
tests_sim_connect_cases_test_SOURCES = tests/sim/connect_cases_test.c $(SIM_LIFE)
tests_sim_crowd_test_SOURCES = tests/sim/crowd_test.c $(SIM_LIFE)
tests_sim_idle_cases_test_SOURCES = tests/sim/idle_cases_test.c $(SIM_LIFE)
tests_sim_idle_test_SOURCES = tests/sim/idle_test.c $(SIM_LIFE)
tests_sim_keepalive_test_SOURCES = tests/sim/keepalive_test.c $(SIM_LIFE)
tests_sim_log_test_SOURCES = tests/sim/log_test.c $(SIM_LIFE)
tests_sim_time_test_SOURCES = tests/sim/time_test.c $(SIM_LIFE)
tests_sim_walk_test_SOURCES = tests/sim/walk_test.c $(SIM_LIFE)
tests_sim_watch_hour_test_SOURCES = tests/sim/watch_hour_test.c tests/support/etcd_wire.c tests/support/etcd_wire.h $(SIM_LIFE)
tests_sim_hostile_alarm_test_SOURCES = tests/sim/hostile_alarm_test.c \
	tests/support/hostile_alarm.c tests/support/hostile_alarm.h $(SIM_LIFE)

if WITH_OPENSSL
check_PROGRAMS += tests/sim/handshake_test
tests_sim_handshake_test_SOURCES = tests/sim/handshake_test.c tests/support/certs.c tests/support/certs.h $(SIM_LIFE)
endif
