# Check programs of src/policy: see HACKING.md, "To add a file". The *_rescheduler tests put the arithmetic on a
# Rescheduler, an executor and the fake clock.
check_PROGRAMS += \
	tests/unit/policy/backoff_test \
	tests/unit/policy/conn_age_drain_test \
	tests/unit/policy/conn_age_test \
	tests/unit/policy/deadline_test \
	tests/unit/policy/eyeballs_test \
	tests/unit/policy/idle_rescheduler_test \
	tests/unit/policy/idle_test \
	tests/unit/policy/keepalive_cases_test \
	tests/unit/policy/keepalive_interval_test \
	tests/unit/policy/keepalive_rescheduler_test \
	tests/unit/policy/keepalive_test \
	tests/unit/policy/ping_police_duel_test \
	tests/unit/policy/ping_police_test

noinst_HEADERS += \
	tests/unit/policy/conn_age_rows.h \
	tests/unit/policy/keepalive_rows.h
