/* SPDX-License-Identifier: Apache-2.0 */
enum { COLUMNS = 5 };
