/* SPDX-License-Identifier: MIT */
#include "base/random.h"

#include <float.h>
#include <string.h>

#include "tests/support/check_main.h"

START_TEST(splitmix_gives_the_published_numbers)
{
    static const uint64_t from_0[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                      UINT64_C(0x06c45d188009454f)};
    static const uint64_t from_1234567[] = {
        UINT64_C(6457827717110365317), UINT64_C(3203168211198807973), UINT64_C(9817491932198370423),
        UINT64_C(4593380528125082431), UINT64_C(16408922859458223821)};
    uint64_t state = 0;
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(random_splitmix(&state), from_0[i]);
    }
    state = 1234567;
    for (int i = 0; i < 5; i++) {
        ck_assert_uint_eq(random_splitmix(&state), from_1234567[i]);
    }
}
END_TEST

START_TEST(xoshiro_gives_the_published_numbers)
{
    /* From the state 1, 2, 3, 4. The first: 2 * 5 = 10, times 2^7 = 1280, times 9. */
    static const uint64_t expected[] = {UINT64_C(11520), UINT64_C(0), UINT64_C(1509978240),
                                        UINT64_C(1215971899390074240)};
    struct lull_random_seeded random;
    lull_random_seed(&random, 0);
    for (uint64_t i = 0; i < 4; i++) {
        random.state[i] = i + 1;
    }
    for (int i = 0; i < 4; i++) {
        ck_assert_uint_eq(random.base.next(&random.base), expected[i]);
    }
}
END_TEST

START_TEST(the_state_is_the_seeds_splitmix)
{
    struct lull_random_seeded random;
    lull_random_seed(&random, 0);
    ck_assert_uint_eq(random.state[0], UINT64_C(0xe220a8397b1dcdaf));
    ck_assert_uint_eq(random.state[2], UINT64_C(0x06c45d188009454f));
}
END_TEST

START_TEST(the_same_seed_gives_the_same_bits_and_another_seed_others)
{
    struct lull_random_seeded a;
    struct lull_random_seeded b;
    struct lull_random_seeded c;
    int same = 0;
    lull_random_seed(&a, 42);
    lull_random_seed(&b, 42);
    lull_random_seed(&c, 43);
    for (int i = 0; i < 1000; i++) {
        uint64_t bits = a.base.next(&a.base);
        ck_assert_uint_eq(bits, b.base.next(&b.base));
        same += bits == c.base.next(&c.base);
    }
    ck_assert_int_eq(same, 0);
}
END_TEST

static uint64_t fixed_bits;

static uint64_t fixed_next(struct lull_random *random)
{
    (void)random;
    return fixed_bits;
}

static const struct {
    uint64_t bits;
    double lo;
    double hi;
    double expected;
} between[] = {
    {0, 0.8, 1.2, 0.8},
    {UINT64_C(1) << 63, 0.0, 10.0, 5.0},
    {UINT64_C(1) << 63, -2.0, 2.0, 0.0},
    {UINT64_C(1) << 62, 0.0, 4.0, 1.0},
    {0x7ff, 0.0, 1.0, 0.0}, /* the low 11 bits are not used */
    {123, 5.0, 5.0, 5.0},
    {UINT64_MAX, 7.0, 3.0, 7.0}, /* an empty range */
};

START_TEST(between_scales_the_bits)
{
    struct lull_random fixed = {fixed_next};
    double value;
    fixed_bits = between[_i].bits;
    value = lull_random_between(&fixed, between[_i].lo, between[_i].hi);
    ck_assert_double_eq_tol(value, between[_i].expected, 1e-12);
}
END_TEST

START_TEST(hi_is_never_reached)
{
    struct lull_random fixed = {fixed_next};
    fixed_bits = UINT64_MAX;
    ck_assert_double_lt(lull_random_between(&fixed, 0.0, 1.0), 1.0);
    /* So narrow that rounding would give hi. */
    ck_assert_double_lt(lull_random_between(&fixed, 0.0, DBL_TRUE_MIN), DBL_TRUE_MIN);
    ck_assert_double_lt(lull_random_between(&fixed, 1.0, 1.0 + DBL_EPSILON), 1.0 + DBL_EPSILON);
    ck_assert_double_lt(lull_random_between(&fixed, -1e308, 1e308), 1e308);
}
END_TEST

START_TEST(between_is_even)
{
    struct lull_random_seeded random;
    int buckets[10] = {0};
    int outside = 0;
    lull_random_seed(&random, 7);
    for (int i = 0; i < 100000; i++) {
        double value = lull_random_between(&random.base, 0.8, 1.2);
        outside += value < 0.8 || value >= 1.2;
        buckets[(int)((value - 0.8) / 0.4 * 9.999999)]++;
    }
    ck_assert_int_eq(outside, 0);
    for (int i = 0; i < 10; i++) {
        /* 10 000 expected, the standard deviation is 95. */
        ck_assert_int_gt(buckets[i], 9500);
        ck_assert_int_lt(buckets[i], 10500);
    }
}
END_TEST

START_TEST(the_system_gives_another_seed_each_time)
{
    ck_assert_uint_ne(random_system_seed(), random_system_seed());
}
END_TEST

static Suite *random_suite(void)
{
    Suite *suite = suite_create("random");
    TCase *tc = tcase_create("random");
    tcase_add_test(tc, splitmix_gives_the_published_numbers);
    tcase_add_test(tc, xoshiro_gives_the_published_numbers);
    tcase_add_test(tc, the_state_is_the_seeds_splitmix);
    tcase_add_test(tc, the_same_seed_gives_the_same_bits_and_another_seed_others);
    tcase_add_loop_test(tc, between_scales_the_bits, 0,
                        (int)(sizeof(between) / sizeof(between[0])));
    tcase_add_test(tc, hi_is_never_reached);
    tcase_add_test(tc, between_is_even);
    tcase_add_test(tc, the_system_gives_another_seed_each_time);
    suite_add_tcase(suite, tc);
    return suite;
}

LULL_TEST_MAIN("random", random_suite)
