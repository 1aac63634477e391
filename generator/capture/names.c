/* SPDX-License-Identifier: Apache-2.0
 *
 * Which names may stand where: in the generated header, which C11 to C23 and C++11 to C++20 read behind any of their
 * headers, and in the graph's text, which is UTF-8.
 */
#include <string.h>

#include "internal.h"

static const char *const keywords[] = { /* of C23 and C++20 */
    "alignas", "alignof", "and", "and_eq", "asm", "auto", "bitand", "bitor", "bool", "break", "case", "catch",
    "char", "char8_t", "char16_t", "char32_t", "class", "co_await", "co_return", "co_yield", "compl", "concept",
    "const", "const_cast", "consteval", "constexpr", "constinit", "continue", "decltype", "default", "delete", "do",
    "double", "dynamic_cast", "else", "enum", "explicit", "export", "extern", "false", "float", "for", "friend",
    "goto", "if", "inline", "int", "long", "mutable", "namespace", "new", "noexcept", "not", "not_eq", "nullptr",
    "operator", "or", "or_eq", "private", "protected", "public", "register", "reinterpret_cast", "requires",
    "restrict", "return", "short", "signed", "sizeof", "static", "static_assert", "static_cast", "struct", "switch",
    "template", "this", "thread_local", "throw", "true", "try", "typedef", "typeid", "typename", "typeof",
    "typeof_unqual", "union", "unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while", "xor",
    "xor_eq"};

/* What the headers of C, POSIX and Linux, and compilers in their default mode, define as macros without arguments. */
static const char *const macros[] = {
    "EOF", "NULL", "BUFSIZ", "FILENAME_MAX", "FOPEN_MAX", "L_tmpnam", "TMP_MAX", "SEEK_CUR", "SEEK_END", "SEEK_SET",
    "stdin", "stdout", "stderr", "errno", "assert", "offsetof", "CHAR_BIT", "EXIT_FAILURE", "EXIT_SUCCESS",
    "RAND_MAX", "MB_CUR_MAX", "MB_LEN_MAX", "CLOCKS_PER_SEC", "TIME_UTC", "HUGE_VAL", "HUGE_VALF", "HUGE_VALL",
    "INFINITY", "NAN", "MATH_ERRNO", "MATH_ERREXCEPT", "math_errhandling", "I", "complex", "imaginary", "noreturn",
    "setjmp", "va_arg", "va_copy", "va_end", "va_start", "DECIMAL_DIG", "SIG_DFL", "SIG_ERR", "SIG_IGN",
    "ATOMIC_FLAG_INIT", "unix", "linux", "i386", "sun", "sparc", "mips", "E2BIG", "EACCES", "EADDRINUSE",
    "EADDRNOTAVAIL", "EAFNOSUPPORT", "EAGAIN", "EALREADY", "EBADF", "EBADMSG", "EBUSY", "ECANCELED", "ECHILD",
    "ECONNABORTED", "ECONNREFUSED", "ECONNRESET", "EDEADLK", "EDESTADDRREQ", "EDOM", "EDQUOT", "EEXIST", "EFAULT",
    "EFBIG", "EHOSTUNREACH", "EIDRM", "EILSEQ", "EINPROGRESS", "EINTR", "EINVAL", "EIO", "EISCONN", "EISDIR", "ELOOP",
    "EMFILE", "EMLINK", "EMSGSIZE", "EMULTIHOP", "ENAMETOOLONG", "ENETDOWN", "ENETRESET", "ENETUNREACH", "ENFILE",
    "ENOBUFS", "ENODATA", "ENODEV", "ENOENT", "ENOEXEC", "ENOLCK", "ENOLINK", "ENOMEM", "ENOMSG", "ENOPROTOOPT",
    "ENOSPC", "ENOSR", "ENOSTR", "ENOSYS", "ENOTCONN", "ENOTDIR", "ENOTEMPTY", "ENOTRECOVERABLE", "ENOTSOCK",
    "ENOTSUP", "ENOTTY", "ENXIO", "EOPNOTSUPP", "EOVERFLOW", "EOWNERDEAD", "EPERM", "EPIPE", "EPROTO",
    "EPROTONOSUPPORT", "EPROTOTYPE", "ERANGE", "EROFS", "ESPIPE", "ESRCH", "ESTALE", "ETIME", "ETIMEDOUT", "ETXTBSY",
    "EWOULDBLOCK", "EXDEV", "SIGABRT", "SIGALRM", "SIGBUS", "SIGCHLD", "SIGCONT", "SIGFPE", "SIGHUP", "SIGILL",
    "SIGINT", "SIGKILL", "SIGPIPE", "SIGPOLL", "SIGPROF", "SIGQUIT", "SIGSEGV", "SIGSTOP", "SIGSYS", "SIGTERM",
    "SIGTRAP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGURG", "SIGUSR1", "SIGUSR2", "SIGVTALRM", "SIGXCPU", "SIGXFSZ",
    "M_E", "M_LOG2E", "M_LOG10E", "M_LN2", "M_LN10", "M_PI", "M_PI_2", "M_PI_4", "M_1_PI", "M_2_PI", "M_2_SQRTPI",
    "M_SQRT2", "M_SQRT1_2", "EADV", "EBADE", "EBADFD", "EBADR", "EBADRQC", "EBADSLT", "EBFONT", "ECHRNG", "ECOMM",
    "EDEADLOCK", "EDOTDOT", "EHOSTDOWN", "EISNAM", "EKEYEXPIRED", "EKEYREJECTED", "EKEYREVOKED", "EL2HLT", "EL2NSYNC",
    "EL3HLT", "EL3RST", "ELIBACC", "ELIBBAD", "ELIBEXEC", "ELIBMAX", "ELIBSCN", "ELNRNG", "EMEDIUMTYPE", "ENAVAIL",
    "ENOANO", "ENOCSI", "ENOKEY", "ENOMEDIUM", "ENONET", "ENOPKG", "ENOTBLK", "ENOTNAM", "ENOTUNIQ", "EPFNOSUPPORT",
    "EREMCHG", "EREMOTE", "EREMOTEIO", "ERESTART", "ERFKILL", "ESHUTDOWN", "ESOCKTNOSUPPORT", "ESRMNT", "ESTRPIPE",
    "ETOOMANYREFS", "EUCLEAN", "EUNATCH", "EUSERS", "EXFULL", "EHWPOISON", "SIGCLD", "SIGIO", "SIGIOT", "SIGPWR",
    "SIGRTMAX", "SIGRTMIN", "SIGSTKFLT", "SIGWINCH", "WEOF"};

/* The starts of those of <limits.h>, <stdint.h> and <float.h> that end in one of `limits`; starts of families. */
static const char *const limited[] = {
    "CHAR", "SCHAR", "UCHAR", "SHRT", "USHRT", "INT", "UINT", "LONG", "ULONG", "LLONG", "ULLONG", "FLT", "DBL", "LDBL",
    "PTRDIFF", "SIZE", "SSIZE", "SIG_ATOMIC", "WCHAR", "WINT", "BOOL"};
static const char *const limits[] = {
    "_MAX", "_MIN", "_WIDTH", "_DIG", "_MANT_DIG", "_DECIMAL_DIG", "_MIN_EXP", "_MIN_10_EXP", "_MAX_EXP", "_MAX_10_EXP",
    "_EPSILON", "_TRUE_MIN", "_HAS_SUBNORM", "_RADIX", "_ROUNDS", "_EVAL_METHOD"};
static const char *const families[] = {"FP_", "FE_", "LC_"};
static const char *const formats[] = {"PRI", "SCN"}; /* PRId64 */

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
    while (*p && ((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
                  (p > name && *p >= '0' && *p <= '9')))
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
