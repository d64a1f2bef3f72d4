check_PROGRAMS += \
	tests/unit/base/base64_test \
	tests/unit/base/buf_test \
	tests/unit/base/invariant_test \
	tests/unit/base/list_test \
	tests/unit/base/mem_test \
	tests/unit/base/metadata_test \
	tests/unit/base/method_test \
	tests/unit/base/percent_test \
	tests/unit/base/random_test \
	tests/unit/base/rc_test \
	tests/unit/base/recycler_test \
	tests/unit/base/recycler_threads_test \
	tests/unit/base/slice_test \
	tests/unit/base/status_test \
	tests/unit/base/strbuf_test
