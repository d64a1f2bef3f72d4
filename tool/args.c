/* SPDX-License-Identifier: MIT */
/*
 * The command line of `lull call`: see args.h. One table of options; each has a function that judges its value.
 */
#include "args.h"

#include <stdlib.h>
#include <string.h>

#include "base64.h"
#include "hex.h"
#include "options.h"

/* Takes an option's value (NULL where it takes none). Returns 0, or -1 and a fault without the option's name. */
typedef int (*option_fn)(struct args *args, const char *value, struct text_fault *fault);

struct option {
    const char *name; /* as it is typed */
    option_fn take;
    bool takes_value;
    bool is_repeatable;
};

static int take_plaintext(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->tls.is_plaintext = true;
    return 0;
}

static int take_tls(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->tls.is_tls = true;
    return 0;
}

static int take_insecure(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->tls.is_insecure = true;
    return 0;
}

static int take_cacert(struct args *args, const char *value, struct text_fault *fault)
{
    (void)fault;
    args->tls.cacert = value;
    return 0;
}

static int take_cert(struct args *args, const char *value, struct text_fault *fault)
{
    (void)fault;
    args->tls.cert = value;
    return 0;
}

static int take_key(struct args *args, const char *value, struct text_fault *fault)
{
    (void)fault;
    args->tls.key = value;
    return 0;
}

static int take_hex(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->is_hex = true;
    return 0;
}

static int take_delimited(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->is_delimited = true;
    return 0;
}

static int take_verbose(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->is_verbose = true;
    return 0;
}

static int take_wait(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->wait_for_ready = true;
    return 0;
}

static int take_help(struct args *args, const char *value, struct text_fault *fault)
{
    (void)value;
    (void)fault;
    args->want_help = true;
    return 0;
}

static int take_authority(struct args *args, const char *value, struct text_fault *fault)
{
    if (value[0] == '\0') {
        return tool_text_fault_set(fault, "a name is needed");
    }
    args->authority = value;
    return 0;
}

static int take_deadline(struct args *args, const char *value, struct text_fault *fault)
{
    return tool_options_duration(value, &args->timeout_ns, fault);
}

static int take_read_timeout(struct args *args, const char *value, struct text_fault *fault)
{
    return tool_options_duration(value, &args->read_timeout_ns, fault);
}

static int take_max_message(struct args *args, const char *value, struct text_fault *fault)
{
    const char *at = value;
    int64_t number = 0;
    if (!tool_options_number(&at, &number) || *at != '\0' || number < 1 || number > INT32_MAX) {
        return tool_text_fault_set(fault, "not a number of bytes from 1 to %d", INT32_MAX);
    }
    args->max_message_bytes = (uint32_t)number;
    return 0;
}

static int take_data_hex(struct args *args, const char *value, struct text_fault *fault)
{
    args->data = malloc(strlen(value) / 2 + 1);
    if (args->data == NULL) {
        return tool_text_fault_set(fault, "out of memory");
    }
    return tool_hex_decode(value, args->data, &args->data_len, fault);
}

/* Makes the value of a header of its text: base64 for a "-bin" name, the text itself for others. */
static int header_value(struct lull_metadatum *header, const char *text, struct text_fault *fault)
{
    size_t len = strlen(text);
    unsigned char *value = malloc(len + 1);
    if (value == NULL) {
        return tool_text_fault_set(fault, "out of memory");
    }
    header->value = value;
    if (header->key_len >= 4 && memcmp(header->key + header->key_len - 4, "-bin", 4) == 0) {
        return tool_base64_decode(text, value, &header->value_len, fault);
    }
    memcpy(value, text, len + 1);
    header->value_len = len;
    return 0;
}

static int take_header(struct args *args, const char *value, struct text_fault *fault)
{
    const char *colon = strchr(value, ':');
    if (colon == NULL || colon == value) {
        return tool_text_fault_set(fault, "a header is name:value");
    }
    struct lull_metadatum *more =
        realloc(args->headers, (args->header_count + 1) * sizeof(*args->headers));
    if (more == NULL) {
        return tool_text_fault_set(fault, "out of memory");
    }
    args->headers = more;
    struct lull_metadatum *header = &more[args->header_count];
    memset(header, 0, sizeof(*header));

    size_t len = (size_t)(colon - value);
    char *key = malloc(len + 1);
    if (key == NULL) {
        return tool_text_fault_set(fault, "out of memory");
    }
    for (size_t i = 0; i < len; i++) {
        /* HTTP/2 has lower-case names only (RFC 9113 section 8.2.1); people type "Authorization". */
        key[i] = value[i] >= 'A' && value[i] <= 'Z' ? (char)(value[i] - 'A' + 'a') : value[i];
    }
    key[len] = '\0';
    header->key = key;
    header->key_len = len;
    args->header_count++;

    const char *text = colon + 1;
    while (*text == ' ') {
        text++;
    }
    if (header_value(header, text, fault) != 0) {
        return -1;
    }
    struct lull_metadata one = {header, 1};
    struct lull_error error;
    if (lull_metadata_check(&one, &error) != LULL_OK) {
        return tool_text_fault_set(fault, "%s", error.text);
    }
    return 0;
}

static const struct option options[] = {
    {"-H", take_header, true, true},
    {"--header", take_header, true, true},
    {"--authority", take_authority, true, false},
    {"--cacert", take_cacert, true, false},
    {"--cert", take_cert, true, false},
    {"--data-hex", take_data_hex, true, false},
    {"--deadline", take_deadline, true, false},
    {"--key", take_key, true, false},
    {"--max-message", take_max_message, true, false},
    {"--read-timeout", take_read_timeout, true, false},
    {"--delimited", take_delimited, false, true},
    {"--hex", take_hex, false, true},
    {"--insecure", take_insecure, false, true},
    {"--plaintext", take_plaintext, false, true},
    {"--tls", take_tls, false, true},
    {"--wait-for-ready", take_wait, false, true},
    {"-v", take_verbose, false, true},
    {"--verbose", take_verbose, false, true},
    {"-h", take_help, false, true},
    {"--help", take_help, false, true},
};
enum { OPTION_COUNT = sizeof(options) / sizeof(options[0]) };

/* The option that `word` names, also as --name=value and -Hvalue; *value is what came with it, or NULL. */
static const struct option *find_option(const char *word, const char **value)
{
    if (strncmp(word, "-H", 2) == 0 && word[2] != '\0') {
        *value = word + 2;
        return &options[0];
    }
    const char *sign = word[1] == '-' ? strchr(word, '=') : NULL;
    size_t len = sign == NULL ? strlen(word) : (size_t)(sign - word);
    *value = sign == NULL ? NULL : sign + 1;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        if (strlen(options[i].name) == len && memcmp(options[i].name, word, len) == 0) {
            return &options[i];
        }
    }
    return NULL;
}

/* Takes the option at argv[i] and moves *i to the last word it used. */
static int take_option(struct args *args, unsigned *seen, int argc, char **argv, int *i,
                       struct text_fault *fault)
{
    const char *word = argv[*i];
    const char *value = NULL;
    const struct option *option = find_option(word, &value);
    if (option == NULL) {
        return tool_text_fault_set(fault, "unknown option '%s' (see 'lull help call')", word);
    }
    if (!option->takes_value && value != NULL) {
        return tool_text_fault_set(fault, "%s takes no value", option->name);
    }
    if (option->takes_value && value == NULL) {
        if (*i + 1 >= argc) {
            return tool_text_fault_set(fault, "%s needs a value", option->name);
        }
        value = argv[++*i];
    }
    unsigned bit = 1U << (unsigned)(option - options);
    if (!option->is_repeatable && (*seen & bit) != 0) {
        return tool_text_fault_set(fault, "%s is given twice", option->name);
    }
    *seen |= bit;
    struct text_fault inner;
    if (option->take(args, value, &inner) == 0) {
        return 0;
    }
    return tool_text_fault_set(fault, "%s '%.100s%s': %.300s", option->name,
                               value == NULL ? "" : value,
                               value != NULL && strlen(value) > 100 ? "…" : "", inner.text);
}

static int take_word(struct args *args, const char *word, struct text_fault *fault)
{
    if (args->target == NULL) {
        args->target = word;
    } else if (args->method == NULL) {
        args->method = word;
    } else {
        return tool_text_fault_set(
            fault, "unexpected '%.200s': the target and the method came before", word);
    }
    return 0;
}

/* "/package.Service/Method": two parts, neither empty, printable ASCII without a space. */
static bool is_method(const char *method)
{
    const char *second = method[0] == '/' ? strchr(method + 1, '/') : NULL;
    if (second == NULL || second == method + 1 || second[1] == '\0') {
        return false;
    }
    if (strchr(second + 1, '/') != NULL) {
        return false;
    }
    for (const char *c = method; *c != '\0'; c++) {
        if (*c <= ' ' || *c > '~') {
            return false;
        }
    }
    return true;
}

static int check_whole(const struct args *args, struct text_fault *fault)
{
    if (args->target == NULL) {
        return tool_text_fault_set(fault, "the target is missing (see 'lull help call')");
    }
    if (args->method == NULL) {
        return tool_text_fault_set(fault, "the method is missing: /package.Service/Method");
    }
    if (!is_method(args->method)) {
        return tool_text_fault_set(
            fault, "bad method '%.200s': it is written /package.Service/Method", args->method);
    }
    return tool_tls_check_client(&args->tls, "make this call", fault);
}

int tool_args_parse(struct args *args, int argc, char **argv, struct text_fault *fault)
{
    memset(args, 0, sizeof(*args));
    args->timeout_ns = LULL_NEVER;
    unsigned seen = 0;
    bool is_over = false; /* "--" ends the options */
    for (int i = 0; i < argc; i++) {
        int failed;
        if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
            continue;
        }
        if (!is_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            failed = take_option(args, &seen, argc, argv, &i, fault);
        } else {
            failed = take_word(args, argv[i], fault);
        }
        if (failed) {
            return -1;
        }
    }
    return args->want_help ? 0 : check_whole(args, fault);
}

void tool_args_fini(struct args *args)
{
    for (size_t i = 0; i < args->header_count; i++) {
        free((void *)(uintptr_t)args->headers[i].key);
        free((void *)(uintptr_t)args->headers[i].value);
    }
    free(args->headers);
    free(args->data);
    memset(args, 0, sizeof(*args));
}
