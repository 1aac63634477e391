/* SPDX-License-Identifier: Apache-2.0
 *
 * Tokens of graph text. After an error the lexer only gives TCI_TOKEN_END, so that every loop of the parser ends.
 */
#ifndef TCI_LEXER_H
#define TCI_LEXER_H

#include "arena.h"
#include "diag.h"

#include <stdint.h>

typedef enum tci_token {
    TCI_TOKEN_END,
    TCI_TOKEN_WORD,   /* letters, digits, '_' and '.', starting with a letter or '_' */
    TCI_TOKEN_NUMBER, /* decimal, value in `number` */
    TCI_TOKEN_BITS,   /* 0x..., value in `number`, digits in `digits` */
    TCI_TOKEN_STRING, /* unescaped in `text` */
    TCI_TOKEN_VALUE,  /* %N or %N.R: number, and result (-1: not written) */
    TCI_TOKEN_PUNCT   /* one character, or == or >=, in `punct` */
} tci_token;

typedef struct tci_lexer {
    const char *path, *at, *end;
    int line; /* of the current token */
    tci_arena *arena;
    tci_diag *diag;
    tci_token token;
    char *text;
    uint64_t number;
    int64_t result;
    int digits;
    char punct[3];
} tci_lexer;

/* Starts at the first token. */
void tci_lexer_init(tci_lexer *lexer, const char *path, const char *text, size_t length, tci_arena *arena,
                    tci_diag *diag);
void tci_lexer_next(tci_lexer *lexer);

/* Records an error at the current line and ends the text. Returns false. */
__attribute__((format(printf, 2, 3))) bool tci_lexer_fail(tci_lexer *lexer, const char *format, ...);

#endif
