import t from 'tap'
import {
  failureOf,
  INITIAL_STATE,
  reduceEndpoint,
  type EndpointEvent,
  type EndpointState,
  type Failure,
} from '../../../../indexer/sources/rpc/endpoint-state.ts'
import {
  AccessRefused,
  AnswerTooLarge,
  BadAnswer,
  CallFailed,
  EndpointFault,
  RateLimited,
  TimedOut,
  WrongChain,
} from '../../../../indexer/sources/rpc/rpc-error.ts'

const failed = (failure: Failure, atMs = 1_000, longestAsideMs = 30_000): EndpointEvent => ({
  ...{ type: 'failed', failure, atMs, longestAsideMs },
})
const fault: Failure = { is: 'fault' }
const untruth: Failure = { is: 'untruth' }
const wrong: Failure = { is: 'wrong chain', found: '5' }

/** From a verified endpoint without strikes, unless `from` differs; only what changes is named. */
const CASES: [string, Partial<EndpointState>, EndpointEvent, Partial<EndpointState>][] = [
  ['a first fault', {}, failed(fault), { strikes: 1, asideUntilMs: 1_250, isVerified: false }],
  ['a first untruth', {}, failed(untruth), { strikes: 1, asideUntilMs: 1_500, isVerified: false }],
  ['a third fault', { strikes: 2 }, failed(fault), { strikes: 3, asideUntilMs: 2_000, isVerified: false }],
  ['many faults', { strikes: 90 }, failed(fault), { strikes: 91, asideUntilMs: 31_000, isVerified: false }],
  [
    'a fault of one without others',
    { strikes: 9 },
    failed(fault, 1_000, 5_000),
    { strikes: 10, asideUntilMs: 6_000, isVerified: false },
  ],
  ['a fault while it is put aside', { asideUntilMs: 1_100 }, failed(fault), {}],
  ['a refusal', {}, failed({ is: 'refusal' }), {}],
  ['another chain', {}, failed(wrong), { wrongChain: '5', asideUntilMs: 31_000, isVerified: false }],
  [
    'the right chain again',
    { wrongChain: '5', isVerified: false },
    { type: 'verified' },
    { wrongChain: null, isVerified: true },
  ],
  ['an answer', { strikes: 5 }, { type: 'answered' }, { strikes: 2 }],
  ['a head of one that is not behind', {}, { type: 'head seen', head: 9 }, {}],
  ['it fell behind', {}, { type: 'fell behind', head: 9 }, { behindAt: 9 }],
  ['it is behind and goes on', { behindAt: 9 }, { type: 'head seen', head: 12 }, { behindAt: 12 }],
  ['it is behind and shows an older head', { behindAt: 9 }, { type: 'head seen', head: 8 }, {}],
  ['it caught up', { behindAt: 9 }, { type: 'caught up' }, { behindAt: null }],
  [
    'a wait in vain',
    {},
    { type: 'given up', wait: 'opinion' },
    { givenUp: { answer: false, opinion: true } },
  ],
  [
    'it responds',
    { givenUp: { answer: true, opinion: true } },
    { type: 'responded', wait: 'answer' },
    { givenUp: { answer: false, opinion: true } },
  ],
]

void t.test('each event changes the state of an endpoint in one way', (t) => {
  for (const [what, from, event, changed] of CASES) {
    const before = { ...INITIAL_STATE, isVerified: true, ...from }
    t.same(reduceEndpoint(before, event), { ...before, ...changed }, what)
  }
  t.end()
})

void t.test('an error tells by its class whose fault it is', (t) => {
  const errors = [
    [new CallFailed('no', 'other'), 'refusal'],
    [new RateLimited('slow down', null), 'refusal'],
    [new EndpointFault('HTML'), 'fault'],
    [new TimedOut('late'), 'fault'],
    [new AnswerTooLarge('long'), 'fault'],
    [new AccessRefused('no token'), 'fault'],
    [new BadAnswer('contradiction'), 'untruth'],
    [new WrongChain('chain 5', '5'), 'wrong chain'],
  ] as const
  for (const [error, is] of errors) t.equal(failureOf(error).is, is, error.name)
  t.end()
})
