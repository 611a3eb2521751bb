/**
 * What the writing and the reading of rows share of Postgres's binary form of them (its manual, COPY, "Binary Format"): the
 * signature, two words, rows, the end. A row is the number of its fields and these, each with its length.
 */

export const SIGNATURE = 'PGCOPY\n\xff\r\n\0'
/** A length, and an int4. */
export const WORD_BYTES = 4
/** A row's number of fields. */
export const COUNT_BYTES = 2
export const INT8_BYTES = 8
/** In place of a length. */
export const NULL = -1
/** In place of a number of fields, after all rows. */
export const END = -1
export const TWO_TO_32 = 2 ** 32
/** Where Postgres's time begins; it counts microseconds. */
export const YEAR_2000_MS = Date.UTC(2000, 0)
export const US_PER_MS = 1000
