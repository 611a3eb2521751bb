import type { FastifyInstance } from 'fastify'
import type { Db } from '../../shared/db/connect.ts'
import { seededRandom } from './random-chain.ts'
import { randomSearch } from './random-search.ts'
import type { Written } from './restless-ledger.ts'

/** Everything that a client saw after one step. */
interface Seen {
  /** The log ended at this position, and its last entry was recorded then. */
  position: number
  time: Date
  /** The answers by their paths; null for 404. */
  answers: Map<string, string | null>
  /** Those of its paths that were asked after this step alone. */
  searches: string[]
}

/** Searches of the history that are asked after each step. */
const SEARCHES = 3

export interface Question {
  url: string
  expected: string | null
}

/**
 * Asks the same paths and a few random searches after each step, keeps all answers, and knows which of them `asOf` must
 * give again.
 */
export class RecordingClient {
  readonly seen: Seen[] = []
  readonly #app: FastifyInstance
  readonly #db: Db
  readonly #paths: readonly string[]
  /** Which step wrote the blocks that stand now, by network. */
  readonly #blocks = new Map<string, (Written & { step: number })[]>()
  readonly #records = new Map<number, number>()
  readonly #random: ReturnType<typeof seededRandom>

  constructor(app: FastifyInstance, db: Db, paths: readonly string[], seed: number) {
    this.#app = app
    this.#db = db
    this.#paths = paths
    this.#random = seededRandom(seed)
  }

  /** Looks at everything after a step; `written` are its blocks, if it had any. */
  async look(written: Written | undefined): Promise<void> {
    const head = await this.#db
      .selectFrom('ledger.log_head')
      .select(['last_position as position', 'last_recorded_at as time'])
      .executeTakeFirstOrThrow()
    const answers = new Map<string, string | null>()
    const searches = await this.#newSearches()
    for (const path of [...this.#paths, ...searches]) {
      const response = await this.#app.inject(path)
      if (![200, 404].includes(response.statusCode)) throw new Error(`${path}: ${response.body}`)
      answers.set(path, response.statusCode === 200 ? response.body : null)
    }
    const step = this.seen.push({ ...head, answers, searches }) - 1
    if (written !== undefined) this.#note(written, step)
    const records = await this.#db
      .selectFrom('projection.activity')
      .select('id')
      .where('id', '>', (this.seen[step - 1]?.position ?? 0) * 1_000_000 + 999_999)
      .execute()
    for (const { id } of records) this.#records.set(id, step)
  }

  /** Its parameters are what a client can know by now, of records that have gone too. */
  async #newSearches(): Promise<string[]> {
    const hashes = await this.#db.selectFrom('projection.activity').select('tx_hash').execute()
    const known = {
      ids: [...this.#records.keys()].map(String),
      times: this.seen.map(({ time }) => time.toISOString()),
      txHashes: hashes.map((row) => row.tx_hash),
      accounts: this.#paths.flatMap((path) => /account\/([^?]+)/.exec(path)?.[1] ?? []),
      loanIds: this.#paths.flatMap((path) => /loan\/\w+\/([^?]+)/.exec(path)?.[1] ?? []),
    }
    return Array.from({ length: SEARCHES }, () => randomSearch(this.#random, known))
  }

  /** A reorg replaces all blocks from its first one on. */
  #note(written: Written, step: number): void {
    const kept = (this.#blocks.get(written.network) ?? [])
      .filter(({ from }) => from < written.from)
      .map((range) => ({ ...range, to: Math.min(range.to, written.from - 1) }))
    this.#blocks.set(written.network, [...kept, { ...written, step }])
  }

  /** Asks for a random path as of a random moment. */
  ask(random: ReturnType<typeof seededRandom>): Question {
    const { asOf, step } = this.#moment(random)
    const { answers = new Map<string, string | null>(), searches = [] } = this.seen[step] ?? {}
    const paths = random.chance(0.3) ? searches : this.#paths
    const path = paths[random.below(paths.length)] ?? ''
    return {
      url: `${path}${path.includes('?') ? '&' : '?'}asOf=${encodeURIComponent(asOf)}`,
      expected: answers.get(path) ?? null,
    }
  }

  #moment(random: ReturnType<typeof seededRandom>): { asOf: string; step: number } {
    const way = random.below(3)
    const networks = [...this.#blocks.entries()]
    const [network, ranges = []] = networks[random.below(networks.length)] ?? []
    const range = ranges[random.below(ranges.length)]
    const records = [...this.#records.entries()]
    const [id, step] = records[random.below(records.length)] ?? []
    if (way === 0 && range !== undefined) {
      const back = random.below(Math.min(3, range.to - range.from + 1))
      return { asOf: `${network}@${range.to - back}`, step: range.step }
    }
    if (way === 1 && id !== undefined && step !== undefined) return { asOf: String(id), step }
    const time = this.seen[random.below(this.seen.length)]?.time ?? new Date()
    // Steps can share a millisecond: the last of them is as of that time.
    return { asOf: time.toISOString(), step: this.seen.findLastIndex((one) => one.time <= time) }
  }
}
