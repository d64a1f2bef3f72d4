/* SPDX-License-Identifier: MIT */
/*
 * The loops of one variant of objects.h, included once for each: OBJECTS_NAME names them, OBJECTS_CLAIM() is the
 * object, OBJECTS_RELEASE(object) gives it back here and OBJECTS_THERE(object) on the other thread.
 */
#define OBJECTS_PASTE2(a, b) a##_##b
#define OBJECTS_PASTE(a, b)  OBJECTS_PASTE2(a, b)
#define OBJECTS_FN(what)     OBJECTS_PASTE(OBJECTS_NAME, what)

static void OBJECTS_FN(pair)(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        uintptr_t *object = OBJECTS_CLAIM();
        *object = i;
        MICRO_USE(object);
        OBJECTS_RELEASE(object);
        MICRO_BARRIER();
    }
}

static void OBJECTS_FN(flight)(void *ctx, size_t count)
{
    uintptr_t *objects[OBJECTS_IN_FLIGHT];
    (void)ctx;
    for (size_t i = 0; i < count; i += OBJECTS_IN_FLIGHT) {
        for (size_t k = 0; k < OBJECTS_IN_FLIGHT; k++) {
            objects[k] = OBJECTS_CLAIM();
            *objects[k] = i;
            MICRO_USE(objects[k]);
        }
        for (size_t k = 0; k < OBJECTS_IN_FLIGHT; k++) {
            OBJECTS_RELEASE(objects[k]);
        }
        MICRO_BARRIER();
    }
}

static void OBJECTS_FN(work)(void *ctx, size_t count)
{
    uintptr_t *objects[OBJECTS_IN_FLIGHT];
    (void)ctx;
    for (size_t i = 0; i < count; i += OBJECTS_IN_FLIGHT) {
        for (size_t k = 0; k < OBJECTS_IN_FLIGHT; k++) {
            micro_work();
            objects[k] = OBJECTS_CLAIM();
            *objects[k] = i;
            MICRO_USE(objects[k]);
        }
        for (size_t k = 0; k < OBJECTS_IN_FLIGHT; k++) {
            OBJECTS_RELEASE(objects[k]);
        }
        MICRO_BARRIER();
    }
}

#ifdef OBJECTS_THERE

static void OBJECTS_FN(cross)(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        uintptr_t *object = OBJECTS_CLAIM();
        *object = i;
        objects_send(object);
    }
    objects_settle();
}

static void OBJECTS_FN(cross_work)(void *ctx, size_t count)
{
    (void)ctx;
    for (size_t i = 0; i < count; i++) {
        uintptr_t *object;
        micro_work();
        object = OBJECTS_CLAIM();
        *object = i;
        objects_send(object);
    }
    objects_settle();
}

static void OBJECTS_FN(there)(void *object)
{
    OBJECTS_THERE(object);
}

static const struct objects_loops OBJECTS_FN(loops) = {
    .pair = OBJECTS_FN(pair),
    .flight = OBJECTS_FN(flight),
    .work = OBJECTS_FN(work),
    .cross = OBJECTS_FN(cross),
    .cross_work = OBJECTS_FN(cross_work),
    .there = OBJECTS_FN(there),
};

#else

static const struct objects_loops OBJECTS_FN(loops) = {
    .pair = OBJECTS_FN(pair),
    .flight = OBJECTS_FN(flight),
    .work = OBJECTS_FN(work),
};

#endif

#undef OBJECTS_NAME
#undef OBJECTS_CLAIM
#undef OBJECTS_RELEASE
#undef OBJECTS_THERE
#undef OBJECTS_FN
#undef OBJECTS_PASTE
#undef OBJECTS_PASTE2
