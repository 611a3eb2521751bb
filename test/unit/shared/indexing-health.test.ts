import t from 'tap'
import { judgeNetwork, type NetworkRow, type RoleReport } from '../../../shared/indexing-health.ts'

const NOW = 2_000_000_000

const WELL: RoleReport = { state: 'following', problem: null, problemKind: null, observedAgoS: 0.5 }

/** A change of a row; the fields of a report change those of both roles. */
type Change = Partial<NetworkRow & RoleReport>

/** A network that is at the head of a chain whose newest block is five seconds old. */
function row({ state, problem, observedAgoS, ...change }: Change): NetworkRow {
  const report = {
    ...WELL,
    state: state ?? WELL.state,
    problem: problem ?? null,
    observedAgoS: observedAgoS ?? 0.5,
  }
  return {
    network: 'evm:1',
    blockchain: 'ETH',
    networkId: '1',
    explorer: null,
    reader: report,
    writer: report,
    head: 1000,
    headTimeS: NOW - 5,
    indexed: 1000,
    indexedTimeS: NOW - 5,
    finalized: 990,
    queueWaiting: 0,
    queueFailed: 0,
    proof: null,
    workerHealthy: true,
    loansWithoutBeginning: 0,
    movedAgoS: 4,
    nowS: NOW,
    ...change,
  }
}

const ages = (headAge: number, indexedAge: number): Partial<NetworkRow> => ({
  headTimeS: NOW - headAge,
  indexedTimeS: NOW - indexedAge,
})

const cases: [what: string, change: Change, synced: boolean, note: RegExp][] = [
  ['at the head', {}, true, /^at the head$/],
  ['the chain stands still', { ...ages(9000, 9000), movedAgoS: 9000 }, true, /stands still since 9000 s/],
  ['the chain at genesis', { head: 0, indexed: 0 }, true, /^at the head$/],
  ['a clock of the chain ahead of ours', ages(-90_000, -90_000), true, /^at the head$/],
  ['a little behind and moving', { indexed: 996, ...ages(5, 53) }, true, /following, 4 blocks behind/],
  ['far by blocks of a fast chain, near by time', { indexed: 800, ...ages(1, 51) }, true, /following, 200/],
  ['catching up', { indexed: 10, ...ages(5, 90_000) }, false, /catching up, 990 blocks/],
  ['the head moves, we do not', { indexed: 995, ...ages(5, 65), movedAgoS: 60 }, false, /^stuck: 5 blocks/],
  [
    'stuck a block behind',
    { indexed: 999, ...ages(3600, 3612), movedAgoS: 3600 },
    false,
    /^stuck: 1 block behind/,
  ],
  ['a block after a standstill', { indexed: 999, ...ages(1, 9000), movedAgoS: 9000 }, true, /just appeared/],
  ['nobody watches', { observedAgoS: 15.1 }, false, /for 15 s/],
  ['nobody follows it', { reader: null, writer: null }, false, /^not followed: /],
  ['stopped', { state: 'stopped', problem: 'no code' }, false, /^stopped: no code$/],
  ['a worker that sleeps', { workerHealthy: false }, false, /worker/],
  ['nothing indexed', { indexed: null, indexedTimeS: null, movedAgoS: null }, false, /nothing is indexed/],
  ['the head is unknown', { head: null, headTimeS: null }, false, /head is not known/],
  [
    'the head is unknown, for no node can be reached',
    { head: null, headTimeS: null, state: 'retrying', problem: 'ECONNREFUSED' },
    false,
    /^retrying: ECONNREFUSED; the head is not known$/,
  ],
  [
    'nothing indexed, for no node can be reached',
    { indexed: null, indexedTimeS: null, movedAgoS: null, state: 'retrying', problem: 'ECONNREFUSED' },
    false,
    /^retrying: ECONNREFUSED; nothing is indexed yet$/,
  ],
  ['the node hiccups', { state: 'retrying', problem: 'time-out' }, true, /^retrying: time-out/],
  [
    'the chain’s clock ahead',
    { state: 'retrying', ...ages(-20, -20) },
    true,
    /block is 20 s ahead of the clock$/,
  ],
  ['the node is gone', { state: 'retrying', ...ages(120, 120) }, false, /^retrying: .* 120 s old/],
]

void t.test('loans that began before startBlock are told of, and change no verdict', (t) => {
  const note = (count: number | null, change = {}): string =>
    judgeNetwork(row({ loansWithoutBeginning: count, ...change })).note
  t.equal(note(null), 'at the head')
  t.equal(note(1), 'at the head; 1 loan began before startBlock: its terms are not known')
  t.equal(note(1000), 'at the head; 1000 loans began before startBlock: their terms are not known')
  t.equal(note(1001), 'at the head; more than 1000 loans began before startBlock: their terms are not known')
  t.match(note(3, { state: 'stopped', problem: 'no code' }), /^stopped: no code; 3 loans began before/)
  t.equal(judgeNetwork(row({ loansWithoutBeginning: 1001 })).synced, true)
  t.end()
})

for (const [what, change, synced, note] of cases) {
  void t.test(what, (t) => {
    const health = judgeNetwork(row(change))
    t.equal(health.synced, synced, health.note)
    t.match(health.note, note)
    t.end()
  })
}

void t.test('the head is never behind what is indexed, nor is its time', (t) => {
  const late = judgeNetwork(row({ head: 37, indexed: 38, ...ages(9000, 3) }))
  t.match(late, { head: 38, indexed: 38, lagBlocks: 0, lagSeconds: 0, synced: true, note: /^at the head$/ })
  t.match(judgeNetwork(row({ head: 40, indexed: 38 })), { head: 40, indexed: 38, lagBlocks: 2 })
  t.equal(judgeNetwork(row({ head: null, headTimeS: null })).head, null, 'what is unknown stays so')
  t.end()
})

void t.test('the distance is never negative, and unknown where a side is', (t) => {
  t.match(judgeNetwork(row({ indexed: 1003, indexedTimeS: NOW })), { lagBlocks: 0, lagSeconds: 0 })
  t.match(judgeNetwork(row({ head: null, headTimeS: null })), { lagBlocks: null, lagSeconds: null })
  t.match(judgeNetwork(row({ observedAgoS: 100 })), { state: 'unobserved' })
  t.match(judgeNetwork(row({ reader: null, writer: null })), { state: 'not followed' })
  t.end()
})

const trouble = (problemKind: RoleReport['problemKind'], state = 'retrying'): RoleReport => ({
  ...WELL,
  ...{ state, problem: `a problem of the ${problemKind ?? '?'}`, problemKind },
})
const left = (observedAgoS: number): RoleReport => ({ ...WELL, state: 'left', observedAgoS })
const silent = { ...trouble('node'), observedAgoS: 15.1 }

/** `state` of the network and of its roles, the kind of its problem, and whether it is synced. */
const pairs: [what: string, roles: Pick<NetworkRow, 'reader' | 'writer'>, told: object][] = [
  ['both well', { reader: WELL, writer: WELL }, { state: 'following', problemKind: null, synced: true }],
  [
    'never any writer',
    { reader: WELL, writer: null },
    {
      ...{ state: 'unobserved', reader: 'following', writer: 'unobserved', synced: false },
      ...{
        problem: 'no process writes this network',
        problemKind: 'writer',
        note: 'no process writes this network',
      },
    },
  ],
  [
    'never any reader',
    { reader: null, writer: WELL },
    {
      ...{ state: 'unobserved', reader: 'unobserved', writer: 'following', synced: false },
      ...{ problem: 'no process reads this network', problemKind: 'reader' },
    },
  ],
  ['a reader that fell silent', { reader: silent, writer: WELL }, { problemKind: 'reader', synced: false }],
  [
    'a writer that fell silent, of a reader without a node',
    { reader: trouble('node'), writer: silent },
    { state: 'unobserved', reader: 'retrying', problemKind: 'writer' },
  ],
  [
    'a reader that stopped, without any writer',
    { reader: trouble('stopped', 'stopped'), writer: null },
    { state: 'stopped', problemKind: 'stopped', note: 'stopped: a problem of the stopped' },
  ],
  [
    'the node away, the writer idle',
    { reader: trouble('node'), writer: WELL },
    { state: 'retrying', reader: 'retrying', writer: 'following', problemKind: 'node', synced: true },
  ],
  [
    'a step that cannot be written',
    { reader: WELL, writer: trouble('step') },
    { state: 'retrying', problemKind: 'step' },
  ],
  [
    'both with a problem: the more important one',
    { reader: trouble('node'), writer: trouble('database') },
    { problemKind: 'database', problem: 'a problem of the database' },
  ],
  [
    'both left a moment ago: another process is about to take over',
    { reader: left(4.9), writer: left(4.9) },
    { state: 'following', reader: 'following', writer: 'following', problem: null, synced: true },
  ],
  [
    'both left, and nobody took over',
    { reader: left(5.1), writer: left(5.1) },
    { state: 'unobserved', reader: 'unobserved', writer: 'unobserved', problemKind: 'reader', synced: false },
  ],
  [
    'both left, and their leases show that nobody took over',
    { reader: { ...left(0.1), isHeld: false }, writer: { ...left(0.1), isHeld: false } },
    { state: 'unobserved', note: 'no process reads this network', isProblemInNote: true, synced: false },
  ],
  [
    'a reader that was killed: nobody has its lease',
    { reader: { ...WELL, observedAgoS: 5.1, isHeld: false }, writer: { ...WELL, isHeld: true } },
    { state: 'unobserved', reader: 'unobserved', problemKind: 'reader', synced: false },
  ],
  [
    'a reader that stopped for good has no lease',
    { reader: { ...trouble('stopped', 'stopped'), observedAgoS: 5.1, isHeld: false }, writer: WELL },
    { state: 'stopped', problemKind: 'stopped' },
  ],
]
for (const [what, roles, told] of pairs) {
  void t.test(`roles: ${what}`, (t) => {
    t.match(judgeNetwork(row(roles)), told)
    t.end()
  })
}
