/**
 * (pure) Checks the readers' answers against the states of the read model. Every answer must be one committed state,
 * whole, and no reader ever sees an older state than before.
 */

/** Ms since the epoch. */
export interface Span {
  from: number
  to: number
}

/** An activity record in the API's form. */
export interface ShownRecord {
  id: number
  txHash: string
  event: string
  loanId: string
  blockchain: string
  networkId: string
  contractAddress: string | null
  loanType: string
  createdAt: string
  updatedAt: string
}

/** The changes of one transaction of the writer, in commit order. */
export interface Change {
  /** The log's position at the change. */
  position: number
  /** New and changed records. */
  put: ShownRecord[]
  /** Ids of removed records. */
  gone: number[]
}

interface Seen {
  reader: number
  at: Span
}

export type Observation =
  | (Seen & { kind: 'page'; page: number; pages: number; records: ShownRecord[] })
  | (Seen & { kind: 'loan'; loanType: string; loanId: string; events: ShownRecord[] })
  | (Seen & { kind: 'missing loan'; loanType: string; loanId: string })
  | (Seen & { kind: 'failure'; url: string; status: number; body: string })

export interface HistoryVerdict {
  states: number
  checked: number
  /** Failures that are allowed because the database was away. */
  excused: number
  complaints: string[]
}

const PAGE = 25
/** Share of answers that may be refusals for load: attackers fill the API's queue, on a shared machine. */
const MOST_OVERLOADED_SHARE = 0.001

export interface HistoryInput {
  changes: readonly Change[]
  /** Positions of the log at which a step ends; no state between them may be visible. */
  stepEnds: ReadonlySet<number>
  /** Ordered like the requests, per reader. */
  observations: readonly Observation[]
  databaseAway: readonly Span[]
  /** Times at which the API was down. */
  apiAway: readonly Span[]
  /** Ms after the database's return within which a new request may still report that it is away. */
  graceMs: number
  /** Ms after the database's return within which a reader may still be without an answer. */
  patienceMs: number
}

export function checkHistory(input: HistoryInput): HistoryVerdict {
  const { changes, observations, stepEnds } = input
  const complaints = changes
    .filter(({ position }) => !stepEnds.has(position))
    .map(({ position }) => `a state was committed at position ${position}, in the middle of a step`)
  const seen = observations.filter((observation) => observation.kind !== 'failure')
  const failures = observations.filter((observation) => observation.kind === 'failure')
  const overloaded = failures.filter(isOverloaded)
  const mayRefuse = overloaded.length <= observations.length * MOST_OVERLOADED_SHARE
  const wrong = failures.filter(
    (failure) => !isExcused(failure, input) && !(mayRefuse && isOverloaded(failure)),
  )
  complaints.push(...wrong.map(({ url, status, body }) => `${url}: ${status} ${body.slice(0, 200)}`))
  complaints.push(...lateAnswers(input), ...disorderOfStates(changes))
  complaints.push(...seen.flatMap(disorder), ...unseenStates(changes, seen))
  return {
    states: changes.length + 1,
    checked: seen.length,
    excused: failures.length - wrong.length,
    complaints,
  }
}

function isOverloaded({ status, body }: { status: number; body: string }): boolean {
  return status === 503 && body.includes('more to do than it can')
}

function isExcused({ status, at }: { status: number; at: Span }, input: HistoryInput): boolean {
  if (status !== 503) return false
  return input.databaseAway.some(({ from, to }) => at.to >= from && at.from <= to + input.graceMs)
}

/** Every reader that went on must get an answer soon after each return of the database while the API was up. */
function lateAnswers({ observations, databaseAway, apiAway, patienceMs }: HistoryInput): string[] {
  const readers = [...new Set(observations.map(({ reader }) => reader))]
  return databaseAway.flatMap((away) => {
    const until = away.to + patienceMs
    const others = [...apiAway, ...databaseAway.filter((other) => other !== away)]
    if (others.some(({ from, to }) => from <= until && to >= away.from)) return []
    return readers.flatMap((reader) => {
      const later = observations.filter((one) => one.reader === reader && one.at.to > away.to)
      const answer = later.find(({ kind }) => kind !== 'failure')
      const wentOn = later.some(({ at }) => at.to > until)
      if (!wentOn || (answer !== undefined && answer.at.to <= until)) return []
      const how = answer === undefined ? 'no answer' : `no answer for ${answer.at.to - away.to} ms`
      const back = new Date(away.to).toISOString()
      return [`reader ${reader} got ${how} after the database was back at ${back}`]
    })
  })
}

/** A new record has a higher id than every earlier one and no earlier time; both never change. */
function disorderOfStates(changes: readonly Change[]): string[] {
  const created = new Map<number, string>()
  const complaints: string[] = []
  let newest: ShownRecord | undefined
  for (const record of changes.flatMap(({ put }) => put.toSorted((one, other) => one.id - other.id))) {
    const before = created.get(record.id)
    created.set(record.id, record.createdAt)
    if (before !== undefined) {
      if (before !== record.createdAt)
        complaints.push(`record ${record.id} was created at ${before} and again`)
      continue
    }
    if (newest !== undefined && (record.id < newest.id || record.createdAt < newest.createdAt)) {
      complaints.push(
        `record ${record.id} of ${record.createdAt} appeared after ${newest.id} of ${newest.createdAt}`,
      )
    }
    newest = record
  }
  return complaints
}

/** Checks ids and times within one answer. */
function disorder(observation: Observation): string[] {
  const newestFirst =
    observation.kind === 'page'
      ? observation.records
      : observation.kind === 'loan'
        ? observation.events.toReversed()
        : []
  return newestFirst.flatMap((record, index) => {
    const newer = newestFirst[index - 1]
    if (newer === undefined || (newer.id > record.id && newer.createdAt >= record.createdAt)) return []
    return [`${describe(observation)}: record ${record.id} stands below ${newer.id}`]
  })
}

type Answer = Exclude<Observation, { kind: 'failure' }>

/**
 * Walks each reader's answers through the states in their order: each answer must fit the last state or a later one.
 * Any other answer is a complaint.
 */
function unseenStates(changes: readonly Change[], seen: readonly Answer[]): string[] {
  const readers = new Map<number, Answer[]>()
  for (const answer of seen) {
    const queue = readers.get(answer.reader) ?? []
    queue.push(answer)
    readers.set(answer.reader, queue)
  }
  const complaints: string[] = []
  for (const queue of readers.values()) complaints.push(...unseenBy(queue, changes))
  return complaints
}

function unseenBy(queue: readonly Answer[], changes: readonly Change[]): string[] {
  const complaints: string[] = []
  let from = new Log(changes)
  for (const answer of queue) {
    const at = from.findNext(answer)
    if (at !== null) {
      from = at
      continue
    }
    const older = new Log(changes).findNext(answer)
    complaints.push(
      older === null
        ? `${describe(answer)}: no state of the history looks like this`
        : `${describe(answer)}: an older state than the one that this reader had seen`,
    )
  }
  return complaints
}

/** A state of the history: the result of the first `index` changes. */
class Log {
  readonly #changes: readonly Change[]
  #index = 0
  #records: ShownRecord[] = []

  constructor(changes: readonly Change[]) {
    this.#changes = changes
  }

  /**
   * Returns the first state from this one on that fits the answer; null when there is none. This one does not change.
   */
  findNext(answer: Answer): Log | null {
    const state = this.#copy()
    for (;;) {
      if (fits(state.#records, answer)) return state
      if (!state.#advance()) return null
    }
  }

  #copy(): Log {
    const copy = new Log(this.#changes)
    copy.#index = this.#index
    copy.#records = [...this.#records]
    return copy
  }

  #advance(): boolean {
    const change = this.#changes[this.#index]
    if (change === undefined) return false
    this.#index += 1
    const gone = new Set([...change.gone, ...change.put.map(({ id }) => id)])
    this.#records = this.#records.filter(({ id }) => !gone.has(id)).concat(change.put)
    this.#records.sort((one, other) => one.id - other.id)
    return true
  }
}

/** `records` are in the order of their ids. */
function fits(records: readonly ShownRecord[], answer: Answer): boolean {
  switch (answer.kind) {
    case 'page': {
      if (Math.ceil(records.length / PAGE) !== answer.pages) return false
      const end = Math.max(0, records.length - PAGE * (answer.page - 1))
      return same(records.slice(Math.max(0, end - PAGE), end).toReversed(), answer.records)
    }
    case 'loan':
      return same(ofLoan(records, answer), answer.events)
    case 'missing loan':
      return ofLoan(records, answer).length === 0
  }
}

function ofLoan(
  records: readonly ShownRecord[],
  { loanType, loanId }: { loanType: string; loanId: string },
): ShownRecord[] {
  return records.filter((record) => record.loanType === loanType && record.loanId === loanId)
}

function same(ours: readonly ShownRecord[], theirs: readonly ShownRecord[]): boolean {
  return (
    ours.length === theirs.length &&
    ours.every((record, index) => {
      const other = theirs[index]
      return other !== undefined && textOf(record) === textOf(other)
    })
  )
}

const texts = new WeakMap<ShownRecord, string>()

function textOf(record: ShownRecord): string {
  const known = texts.get(record)
  if (known !== undefined) return known
  const text = JSON.stringify(Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1)))
  texts.set(record, text)
  return text
}

function describe(observation: Observation): string {
  const by = `reader ${observation.reader} at ${new Date(observation.at.from).toISOString()}`
  switch (observation.kind) {
    case 'page':
      return `${by}, page ${observation.page} of ${observation.pages}`
    case 'loan':
    case 'missing loan':
      return `${by}, ${observation.loanType} loan ${observation.loanId}`
    case 'failure':
      return `${by}, ${observation.url}`
  }
}
