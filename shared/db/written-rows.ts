import { fieldsOf, RowBytes, type Columns, type Field, type RowOf } from './row-bytes.ts'

const BLOCK_BYTES = 256 * 1024
/** As many are left in a block when the next one is begun: what is longer makes a block longer. */
const LEFT_BYTES = 16 * 1024
const HEADER_BYTES = 32

/** Of rows that were copied. What was touched before costs less than what was not (docs/performance.md). */
const spare: RowBytes[] = []
const MOST_SPARE = 128

/**
 * Rows that are written down as they come and copied all at once: what they are made of need not be held until then, which
 * would be copied by each collection of garbage. They are known by their numbers, from 0 on.
 */
export class WrittenRows<C extends Columns> {
  readonly columns: C
  readonly #fields: Field[]
  readonly #blocks: RowBytes[] = []
  /** Of each row. */
  readonly #blockOf: number[] = []
  readonly #startOf: number[] = []
  readonly #dropped = new Set<number>()

  constructor(columns: C) {
    this.columns = columns
    this.#fields = fieldsOf(columns)
  }

  /** Its number. Throws for a value that its column cannot have, as {@link RowBytes}: then there is no such row. */
  add(row: RowOf<C>): number {
    const block = this.#blockWithRoom()
    const start = block.length
    try {
      block.row(this.#fields, row)
    } catch (error) {
      block.cutTo(start)
      throw error
    }
    this.#startOf.push(start)
    return this.#blockOf.push(this.#blocks.length - 1) - 1
  }

  /** Says what was not known when the row was written, and was no null there. */
  setInteger(row: number, column: keyof C, value: number): void {
    const field = this.#fields.findIndex(({ name }) => name === column)
    if (this.#fields[field]?.type !== 'integer') throw new TypeError(`${String(column)} is no integer`)
    this.#blockAt(row).setInteger(this.#startOf[row] ?? 0, field, value)
  }

  /** It is not copied. */
  drop(row: number): void {
    this.#dropped.add(row)
  }

  /** How many are copied. */
  get size(): number {
    return this.#startOf.length - this.#dropped.size
  }

  /** The bytes of a copy. They are good until {@link giveBack}. */
  *parts(): Generator<Uint8Array> {
    const header = new RowBytes(HEADER_BYTES)
    header.signature()
    yield header.take()
    let from = 0
    for (const row of [...this.#dropped].sort((a, b) => a - b)) {
      yield* this.#between(from, row)
      from = row + 1
    }
    yield* this.#between(from, this.#startOf.length)
    const end = new RowBytes(HEADER_BYTES)
    end.end()
    yield end.take()
  }

  /** There is nothing more to do with these rows. */
  giveBack(): void {
    for (const block of this.#blocks.splice(0)) {
      if (spare.length === MOST_SPARE) break
      if (block.capacity > BLOCK_BYTES) continue
      block.cutTo(0)
      spare.push(block)
    }
  }

  /** The rows from one on and before another, in as many pieces as there are blocks of them. */
  *#between(from: number, to: number): Generator<Uint8Array> {
    for (let row = from; row < to;) {
      const [block, start] = [this.#blockAt(row), this.#startOf[row] ?? 0]
      while (row < to && this.#blocks[this.#blockOf[row] ?? -1] === block) row += 1
      const isEndOfBlock = this.#blocks[this.#blockOf[row] ?? -1] !== block
      yield block.between(start, isEndOfBlock ? block.length : (this.#startOf[row] ?? 0))
    }
  }

  #blockAt(row: number): RowBytes {
    const block = this.#blocks[this.#blockOf[row] ?? -1]
    if (block === undefined) throw new RangeError(`there is no row ${row}`)
    return block
  }

  #blockWithRoom(): RowBytes {
    const last = this.#blocks.at(-1)
    if (last !== undefined && last.length <= BLOCK_BYTES - LEFT_BYTES) return last
    const block = spare.pop() ?? new RowBytes(BLOCK_BYTES)
    this.#blocks.push(block)
    return block
  }
}
