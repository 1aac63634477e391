/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names may stand where: in the generated header, which C11 to C23 and C++11 to C++20 read behind any of their
 * headers, and in the graph's text, which is UTF-8.
 */
#include <string.h>

#include "../../runtime/hosted/utf8.h"
#include "internal.h"

/* c_names.def says what each is. */
#define TC_KEYWORD(name)
#define TC_MACRO(name)
#define TC_LIMITED(name)
#define TC_LIMIT(name)
#define TC_FAMILY(name)
#define TC_FORMAT(name)

#undef TC_KEYWORD
#define TC_KEYWORD(name) #name,
static const char *const keywords[] = {
#include "../c_names.def"
};
#undef TC_KEYWORD
#define TC_KEYWORD(name)

#undef TC_MACRO
#define TC_MACRO(name) #name,
static const char *const macros[] = {
#include "../c_names.def"
};
#undef TC_MACRO
#define TC_MACRO(name)

#undef TC_LIMITED
#define TC_LIMITED(name) #name,
static const char *const limited[] = {
#include "../c_names.def"
};
#undef TC_LIMITED
#define TC_LIMITED(name)

#undef TC_LIMIT
#define TC_LIMIT(name) #name,
static const char *const limits[] = {
#include "../c_names.def"
};
#undef TC_LIMIT
#define TC_LIMIT(name)

#undef TC_FAMILY
#define TC_FAMILY(name) #name,
static const char *const families[] = {
#include "../c_names.def"
};
#undef TC_FAMILY
#define TC_FAMILY(name)

#undef TC_FORMAT
#define TC_FORMAT(name) #name,
static const char *const formats[] = {
#include "../c_names.def"
};
#undef TC_FORMAT
#define TC_FORMAT(name)

static bool is_one_of(const char *name, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; ++i)
        if (!strcmp(name, words[i]))
            return true;
    return false;
}

#define IS_ONE_OF(name, words) is_one_of(name, words, sizeof(words) / sizeof *(words))

static bool of_capitals(const char *name)
{
    while ((*name >= 'A' && *name <= 'Z') || (*name >= '0' && *name <= '9') || *name == '_')
        ++name;
    return !*name;
}

/* INT8, UINT_LEAST16, INTMAX, UINTPTR and their kin: the length of the start of `name` that is one, or 0. */
static size_t integer_type(const char *name)
{
    const char *p = name + (*name == 'U');
    if (strncmp(p, "INT", 3))
        return 0;
    p += 3;
    if (!strncmp(p, "MAX", 3) || !strncmp(p, "PTR", 3))
        return (size_t)(p + 3 - name);
    p += !strncmp(p, "_LEAST", 6) ? 6 : !strncmp(p, "_FAST", 5) ? 5 : 0;
    const size_t digits = strspn(p, "0123456789");
    return digits ? (size_t)(p - name) + digits : 0;
}

static bool is_limit(const char *name)
{
    const size_t type = integer_type(name);
    if (type && (IS_ONE_OF(name + type, limits) || !strcmp(name + type, "_C")))
        return true;
    for (size_t i = 0; i < sizeof limited / sizeof *limited; ++i) {
        const size_t n = strlen(limited[i]);
        if (!strncmp(name, limited[i], n) && IS_ONE_OF(name + n, limits))
            return true;
    }
    return false;
}

static bool is_of_family(const char *name)
{
    for (size_t i = 0; i < sizeof families / sizeof *families; ++i)
        if (!strncmp(name, families[i], strlen(families[i])) && of_capitals(name))
            return true;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; ++i)
        if (!strncmp(name, formats[i], 3) && name[3] && strchr("diouxX", name[3]) && name[4] && of_capitals(name + 4))
            return true;
    return false;
}

bool tc_check_identifier(tc_graph *g, const char *what, const char *name)
{
    const char *p = name;
    while (*p &&
           ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' || (p > name && *p >= '0' && *p <= '9')))
        ++p;
    if (!*name || *p)
        tc_fail(g, "names become members of the generated header: letters, digits and _",
                "%s name \"%s\" is no C identifier", what, name);
    else if (IS_ONE_OF(name, keywords))
        tc_fail(g, "names become members of the generated header", "%s name \"%s\" is a keyword of C or C++", what,
                name);
    else if (IS_ONE_OF(name, macros) || is_limit(name) || is_of_family(name))
        tc_fail(g, "names become members of the generated header, which is read behind any others",
                "%s name \"%s\" is a macro of C's headers or of a compiler", what, name);
    else if (!strncmp(name, "tc_", 3) || !strncmp(name, "TC_", 3) || !strncmp(name, "TENSOR_COMPILE_", 15) ||
             strstr(name, "__") || (name[0] == '_' && name[1] >= 'A' && name[1] <= 'Z'))
        tc_fail(g, "names with __, and those that begin with _ and a capital, tc_, TC_ or TENSOR_COMPILE_, are taken",
                "%s name \"%s\" is reserved", what, name);
    else
        return true;
    return false;
}

bool tc_check_text(tc_graph *g, const char *argument, const char *text)
{
    if (text && tc_is_utf8(text))
        return true;
    tc_fail(g, NULL, text ? "argument '%s' is no UTF-8" : "argument '%s' is NULL", argument);
    return false;
}
