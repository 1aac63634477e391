/* SPDX-License-Identifier: Apache-2.0 */
#include "lexer.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool tci_lexer_fail(tci_lexer *lexer, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    tci_fail(lexer->diag, (tci_loc){lexer->path, lexer->line}, "%s", text);
    lexer->at = lexer->end;
    lexer->token = TCI_TOKEN_END;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int hex_value(char c)
{
    return is_digit(c) ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool read_decimal(tci_lexer *l, uint64_t *value)
{
    *value = 0;
    while (l->at < l->end && is_digit(*l->at)) {
        if (__builtin_mul_overflow(*value, (uint64_t)10, value) ||
            __builtin_add_overflow(*value, (uint64_t)(*l->at - '0'), value) || *value > INT64_MAX)
            return tci_lexer_fail(l, "a number beyond 64 bits");
        l->at++;
    }
    return true;
}

static void read_string(tci_lexer *l)
{
    const char *close = ++l->at;
    while (close < l->end && *close != '"' && *close != '\n')
        close += *close == '\\' && close + 1 < l->end ? 2 : 1;
    if (close >= l->end || *close != '"') {
        tci_lexer_fail(l, "a string without an end");
        return;
    }
    char *out = l->text = tci_arena_text(l->arena, l->at, (size_t)(close - l->at));
    if (out == NULL) {
        tci_lexer_fail(l, "out of memory");
        return;
    }
    for (const char *c = l->at; c < close; c++) {
        if (*c == '\0') {
            tci_lexer_fail(l, "a zero byte in a string");
            return;
        }
        if (*c == '\\') {
            c++;
            if (*c != '"' && *c != '\\' && *c != 'n') {
                tci_lexer_fail(l, "unknown escape in a string; \\\", \\\\ and \\n exist");
                return;
            }
            *out++ = *c == 'n' ? '\n' : *c;
        } else {
            *out++ = *c;
        }
    }
    *out = '\0';
    l->at = close + 1;
    l->token = TCI_TOKEN_STRING;
}

void tci_lexer_next(tci_lexer *l)
{
    for (;; l->at++) {
        if (l->at >= l->end) {
            l->token = TCI_TOKEN_END;
            return;
        }
        if (*l->at == '\n')
            l->line++;
        else if (*l->at == '#')
            while (l->at + 1 < l->end && l->at[1] != '\n')
                l->at++;
        else if (*l->at != ' ' && *l->at != '\t' && *l->at != '\r')
            break;
    }
    const char c = *l->at;
    if (c == '"') {
        read_string(l);
    } else if (is_word_start(c)) {
        const char *start = l->at;
        while (l->at < l->end && (is_word_start(*l->at) || is_digit(*l->at) || *l->at == '.'))
            l->at++;
        l->text = tci_arena_text(l->arena, start, (size_t)(l->at - start));
        l->token = TCI_TOKEN_WORD;
        if (l->text == NULL)
            tci_lexer_fail(l, "out of memory");
    } else if (c == '0' && l->end - l->at > 2 && l->at[1] == 'x') {
        l->at += 2;
        l->number = 0;
        for (l->digits = 0; l->at < l->end && hex_value(*l->at) >= 0; l->at++, l->digits++)
            l->number = l->number << 4 | (uint64_t)hex_value(*l->at);
        l->token = TCI_TOKEN_BITS;
        if (l->digits == 0 || l->digits > 16)
            tci_lexer_fail(l, "1 to 16 hexadecimal digits are expected after 0x");
    } else if (is_digit(c)) {
        l->token = TCI_TOKEN_NUMBER;
        read_decimal(l, &l->number);
    } else if (c == '%') {
        l->at++;
        l->token = TCI_TOKEN_VALUE;
        l->result = -1;
        if (l->at >= l->end || !is_digit(*l->at)) {
            tci_lexer_fail(l, "a number is expected after '%%'");
        } else if (read_decimal(l, &l->number) && l->end - l->at > 1 && *l->at == '.' && is_digit(l->at[1])) {
            l->at++;
            uint64_t result;
            if (read_decimal(l, &result))
                l->result = (int64_t)result;
        }
    } else if (c > ' ' && c <= '~') {
        const bool two = l->end - l->at > 1 && (c == '=' || c == '>') && l->at[1] == '=';
        l->punct[0] = c;
        l->punct[1] = two ? '=' : '\0';
        l->punct[2] = '\0';
        l->at += two ? 2 : 1;
        l->token = TCI_TOKEN_PUNCT;
    } else {
        tci_lexer_fail(l, "unexpected byte 0x%02x", (unsigned)(unsigned char)c);
    }
}

void tci_lexer_init(tci_lexer *lexer, const char *path, const char *text, size_t length, tci_arena *arena,
                    tci_diag *diag)
{
    *lexer = (tci_lexer){.path = path, .at = text, .end = text + length, .line = 1, .arena = arena, .diag = diag};
    tci_lexer_next(lexer);
}
