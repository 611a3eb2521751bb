import fc from 'fast-check'
import t from 'tap'
import { decodeExecuted, NOT_OURS } from '../../../../indexer/sources/filecoin/decode-executed.ts'
import { decodeTipset } from '../../../../indexer/sources/filecoin/decode-tipset.ts'
import { leanAnswers } from '../../../../indexer/sources/filecoin/lean-answers.ts'
import { cases } from '../../../helpers/cases.ts'

function outcome(decode: () => unknown): unknown {
  try {
    return { value: decode() }
  } catch (error) {
    return { error: error instanceof Error ? `${error.name}: ${error.message}` : 'no error' }
  }
}

const anything = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom(null, '', 't0100', 7))
const cid = fc
  .constantFrom('bafy2bzaceaa', 'bafy2bzacebwrxipm6nyeqcaaxsjh6vdzl7f5klxkj4mxgvkhxlzcjmw3ya6xk')
  .map((text) => ({ '/': text }))
const receiver = fc.constantFrom('t01', 'f01', 't0100', 't01234', 't099', 't2abc', 't1abc', 't410fabc', '')
/** Some of them nonsense, wherever a node may say it. */
const message = fc.record(
  {
    Version: fc.constant(0),
    To: fc.oneof({ weight: 9, arbitrary: receiver }, anything),
    From: fc.oneof({ weight: 9, arbitrary: receiver }, anything),
    Nonce: fc.oneof(fc.nat(), fc.constant(2n ** 63n)),
    Value: fc.constantFrom('0', '1', '1000000000000000000'),
    GasLimit: fc.nat(),
    GasFeeCap: fc.constant('1'),
    GasPremium: fc.constant('1'),
    Method: fc.oneof({ weight: 9, arbitrary: fc.nat(6) }, fc.constant(2n ** 64n - 1n), anything),
    Params: fc.constantFrom(null, '', 'AAAA', 'not base64'),
    CID: cid,
  },
  { requiredKeys: ['Version', 'Nonce', 'Value'] },
)
const executed = fc.oneof(
  { weight: 12, arbitrary: fc.record({ Cid: cid, Message: message }) },
  fc.record({ Cid: anything, Message: fc.oneof(message, anything) }, { requiredKeys: [] }),
  anything,
)
const receipt = fc.oneof(
  { weight: 12, arbitrary: fc.record({ ExitCode: fc.constantFrom(0, 0, 0, 1), Return: fc.constant(null) }) },
  anything,
)
const ran = fc.array(fc.tuple(executed, receipt), { maxLength: 6 })

void t.test('what a lean answer is read as is what the whole one is read as', (t) => {
  let passedOver = 0
  fc.assert(
    fc.property(ran, fc.boolean(), (pairs, isBatch) => {
      const [messages, receipts] = [pairs.map(([one]) => one), pairs.map(([, other]) => other)]
      const before = outcome(() => decodeExecuted(structuredClone(messages), receipts))
      const lean = leanAnswers(isBatch ? [{ id: 1, result: messages }] : messages)
      const left = isBatch ? (lean as [{ result: unknown[] }])[0].result : (lean as unknown[])
      passedOver += left.filter((item) => item === NOT_OURS).length
      t.same(
        outcome(() => decodeExecuted(left, receipts)),
        before,
      )
    }),
    { numRuns: cases(3_000) },
  )
  t.ok(passedOver > cases(1_000) / 2, `${passedOver} messages were let go of`)
  t.end()
})

const block = fc.record(
  {
    Height: fc.oneof({ weight: 9, arbitrary: fc.constant(7) }, anything),
    Parents: fc.oneof({ weight: 9, arbitrary: fc.array(cid, { minLength: 1, maxLength: 2 }) }, anything),
    Timestamp: fc.oneof({ weight: 9, arbitrary: fc.constant(1_600_000_210) }, anything),
    Ticket: fc.record({ VRFProof: fc.string() }),
  },
  { requiredKeys: ['Ticket'] },
)
const tipset = fc.record(
  {
    Cids: fc.oneof({ weight: 9, arbitrary: fc.array(cid, { maxLength: 3 }) }, anything),
    Blocks: fc.oneof(
      {
        weight: 9,
        arbitrary: fc.array(fc.oneof({ weight: 9, arbitrary: block }, anything), { maxLength: 3 }),
      },
      anything,
    ),
    Height: fc.oneof({ weight: 9, arbitrary: fc.constant(7) }, anything),
  },
  { requiredKeys: ['Height'] },
)

void t.test('so is a tipset, in a batch and alone', (t) => {
  fc.assert(
    fc.property(tipset, fc.boolean(), (said, isBatch) => {
      const before = outcome(() => decodeTipset(structuredClone(said)))
      const answer = { id: 1, result: said }
      leanAnswers(isBatch ? [answer] : answer)
      t.same(
        outcome(() => decodeTipset(answer.result)),
        before,
      )
    }),
    { numRuns: cases(3_000) },
  )
  t.end()
})

void t.test('whatever is parsed comes back, and what is no answer as it was', (t) => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const before = structuredClone(value)
      t.same(leanAnswers(value), before)
    }),
  )
  t.end()
})
