/* SPDX-License-Identifier: MIT */
/*
 * Reading a table of options: see options.h.
 */
#include "options.h"

#include <string.h>

#include <lull/lull.h>

bool tool_options_number(const char **at, int64_t *out)
{
    const char *c = *at;
    int64_t number = 0;
    if (*c < '0' || *c > '9') {
        return false;
    }
    for (; *c >= '0' && *c <= '9'; c++) {
        int digit = *c - '0';
        if (number > (INT64_MAX - digit) / 10) {
            return false;
        }
        number = number * 10 + digit;
    }
    *at = c;
    *out = number;
    return true;
}

int tool_options_duration(const char *text, int64_t *out_ns, struct text_fault *fault)
{
    static const struct {
        const char *name;
        int64_t ns;
    } units[] = {
        {"ns", 1},          {"us", LULL_US},         {"ms", LULL_MS},
        {"s", LULL_SECOND}, {"m", 60 * LULL_SECOND}, {"h", 3600 * LULL_SECOND},
    };
    const char *at = text;
    int64_t number = 0;
    if (!tool_options_number(&at, &number)) {
        return tool_text_fault_set(fault,
                                   "not a duration: a whole number and ns, us, ms, s, m or h");
    }
    if (*at == '.' || *at == ',') {
        return tool_text_fault_set(fault, "a fraction: the number must be whole, as in 1500ms");
    }
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(at, units[i].name) != 0) {
            continue;
        }
        if (number >= LULL_NEVER / units[i].ns) {
            return tool_text_fault_set(fault, "too long: the longest is 292 years");
        }
        *out_ns = number * units[i].ns;
        return 0;
    }
    return tool_text_fault_set(fault, "%s: ns, us, ms, s, m or h must follow the whole number",
                               *at == '\0' ? "the unit is missing" : "unknown unit");
}

void tool_options_tell_raised(const char *option, int64_t asked_ns, int64_t in_force_ns)
{
    struct text_fault line;
    if (asked_ns <= 0 || asked_ns >= in_force_ns) {
        return;
    }
    const bool is_seconds = in_force_ns >= LULL_SECOND;
    (void)tool_text_fault_set(&line, "%s is raised to %lld %s; --short-timers lifts the floor", option,
                              (long long)(in_force_ns / (is_seconds ? LULL_SECOND : LULL_MS)), is_seconds ? "s" : "ms");
    tool_text_complain(line.text);
}

/* The option that `word` names, also as --name=value; *value is what came with it, or NULL. */
static const struct tool_option *find(const struct tool_option *options, size_t count,
                                      const char *word, const char **value)
{
    const char *sign = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t len = sign == NULL ? strlen(word) : (size_t)(sign - word);
    *value = sign == NULL ? NULL : sign + 1;
    for (size_t i = 0; i < count; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, word, len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

static int take_text(struct tool_texts *texts, const char *value, struct text_fault *fault)
{
    if (texts->count == TOOL_TEXTS_MAX) {
        return tool_text_fault_set(fault, "given more than %d times", TOOL_TEXTS_MAX);
    }
    texts->items[texts->count++] = value;
    return 0;
}

static int take_number(uint32_t *into, const char *value, struct text_fault *fault)
{
    int64_t number;
    if (!tool_options_number(&value, &number) || *value != '\0' || number > UINT32_MAX) {
        return tool_text_fault_set(fault, "not a whole number below 2^32");
    }
    *into = (uint32_t)number;
    return 0;
}

static int take(const struct tool_option *option, const char *value, struct text_fault *fault)
{
    switch (option->kind) {
    case TOOL_OPTION_FLAG:
        *(bool *)option->into = true;
        return 0;
    case TOOL_OPTION_DURATION:
        return tool_options_duration(value, (int64_t *)option->into, fault);
    case TOOL_OPTION_NUMBER:
        return take_number((uint32_t *)option->into, value, fault);
    default:
        return take_text((struct tool_texts *)option->into, value, fault);
    }
}

int tool_options_parse(const struct tool_option *options, size_t count, const char *command,
                       struct tool_texts *words, size_t words_max, int argc, char **argv,
                       struct text_fault *fault)
{
    bool is_over = false; /* "--" ends the options */
    for (int i = 0; i < argc; i++) {
        const char *word = argv[i];
        const char *value = NULL;
        struct text_fault inner;
        if (!is_over && strcmp(word, "--") == 0) {
            is_over = true;
            continue;
        }
        if (is_over || word[0] != '-' || word[1] == '\0') {
            if (words->count == words_max) {
                return tool_text_fault_set(fault, "unexpected '%.200s' (see 'lull help %s')", word,
                                           command);
            }
            words->items[words->count++] = word;
            continue;
        }
        const struct tool_option *option = find(options, count, word, &value);
        if (option == NULL) {
            return tool_text_fault_set(fault, "unknown option '%.200s' (see 'lull help %s')", word,
                                       command);
        }
        if (option->kind == TOOL_OPTION_FLAG && value != NULL) {
            return tool_text_fault_set(fault, "%s takes no value", option->name);
        }
        if (option->kind != TOOL_OPTION_FLAG && value == NULL && i + 1 == argc) {
            return tool_text_fault_set(fault, "%s needs a value", option->name);
        }
        if (option->kind != TOOL_OPTION_FLAG && value == NULL) {
            value = argv[++i];
        }
        if (take(option, value, &inner) != 0) {
            return tool_text_fault_set(fault, "%s '%.100s': %.300s", option->name,
                                       value == NULL ? "" : value, inner.text);
        }
    }
    return 0;
}
