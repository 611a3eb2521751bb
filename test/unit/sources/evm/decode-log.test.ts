import { AbiCoder, getAddress, Interface } from 'ethers'
import fc from 'fast-check'
import t from 'tap'
import { EVENT_LAYOUTS } from '../../../../indexer/sources/evm/contracts.ts'
import { decodeLog } from '../../../../indexer/sources/evm/decode-log.ts'
import type { ContractRole } from '../../../../shared/events/chain-event.ts'
import { collectGarbage, usedBytes } from '../../../fuzz/memory.ts'
import { cases } from '../../../helpers/cases.ts'

const ROLES: ContractRole[] = ['erc20Loans', 'erc20CollateralLock']
const coder = AbiCoder.defaultAbiCoder()
const layouts = ROLES.flatMap((role) =>
  [...EVENT_LAYOUTS[role].values()].map((layout) => ({ role, ...layout })),
)

const hexOf = (bytes: Uint8Array): string => `0x${Buffer.from(bytes).toString('hex')}`
const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map(hexOf)
const value: Record<string, fc.Arbitrary<unknown>> = {
  uint256: fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }),
  address: fc.uint8Array({ minLength: 20, maxLength: 20 }).map((bytes) => getAddress(hexOf(bytes))),
  bytes: fc.uint8Array({ maxLength: 200 }).map(hexOf),
  bytes32,
}
const anyLog = fc
  .constantFrom(...layouts)
  .chain((layout) =>
    fc
      .tuple(...layout.types.map((type) => value[type] ?? fc.constant(null)))
      .map((values) => ({ layout, values, data: coder.encode(layout.types, values) })),
  )

void t.test('the topics are those of the protocol', (t) => {
  const spec = new Interface([
    'event CreateLoanOffer(uint256 loanId, address lender, uint256 principal, address token)',
    'event SeizeCollateral(uint256 loanId, address lender, uint256 amount, address token)',
  ])
  t.equal(layouts.length, 13)
  for (const name of ['CreateLoanOffer', 'SeizeCollateral']) {
    t.equal(layouts.find(({ kind }) => kind === name)?.topic, spec.getEvent(name)?.topicHash)
  }
  t.end()
})

void t.test('a well-formed log is its event, with exact values', (t) => {
  fc.assert(
    fc.property(anyLog, ({ layout, values, data }) => {
      const decoded = decodeLog(layout.role, { topics: [layout.topic], data })
      if (decoded.kind === 'Undecodable') return false
      const found: Record<string, unknown> = { loanId: decoded.contractLoanId, ...decoded.args }
      return (
        decoded.kind === layout.kind &&
        layout.names.every((name, index) => found[name] === String(values[index])) &&
        Object.keys(found).length === layout.names.length
      )
    }),
  )
  t.end()
})

void t.test('any other bytes are undecodable, and never an exception', (t) => {
  const change = fc.oneof(
    fc.record({ cut: fc.integer({ min: 1, max: 400 }) }),
    fc.record({ more: fc.uint8Array({ minLength: 1, maxLength: 64 }) }),
    fc.record({ at: fc.nat(), digit: fc.integer({ min: 1, max: 15 }) }),
  )
  fc.assert(
    fc.property(anyLog, change, ({ layout, data }, how) => {
      let hostile = data
      if ('cut' in how) hostile = data.slice(0, Math.max(2, data.length - how.cut * 2))
      else if ('more' in how) hostile = data + hexOf(how.more).slice(2)
      else {
        const at = 2 + (how.at % (data.length - 2))
        const digit = (Number.parseInt(data.charAt(at), 16) ^ how.digit).toString(16)
        hostile = data.slice(0, at) + digit + data.slice(at + 1)
      }
      const decoded = decodeLog(layout.role, { topics: [layout.topic], data: hostile })
      if (decoded.kind === 'Undecodable') return decoded.reason.length < 200
      // A changed digit can be another valid log, but then it says something else; changed lengths cannot.
      return (
        'digit' in how &&
        JSON.stringify(decoded) !== JSON.stringify(decodeLog(layout.role, { topics: [layout.topic], data }))
      )
    }),
    { numRuns: cases(1000) },
  )
  const randomLog = fc.record({
    role: fc.constantFrom(...ROLES),
    topics: fc.array(fc.oneof(bytes32, fc.constantFrom(...layouts.map(({ topic }) => topic))), {
      maxLength: 4,
    }),
    data: fc.uint8Array({ maxLength: 1000, size: 'max' }).map(hexOf),
  })
  fc.assert(
    fc.property(randomLog, ({ role, topics, data }) => {
      const decoded = decodeLog(role, { topics, data })
      return (
        decoded.kind !== 'Undecodable' ||
        (decoded.dataHead.length <= 514 && decoded.dataBytes === data.length / 2 - 1)
      )
    }),
    { numRuns: cases(1000) },
  )
  t.end()
})

void t.test('huge, foreign and surplus', (t) => {
  const [offer] = layouts
  if (offer === undefined) throw new Error('no layout')
  const reason = (topics: string[], data: string): string => {
    const decoded = decodeLog('erc20Loans', { topics, data })
    return decoded.kind === 'Undecodable' ? decoded.reason : decoded.kind
  }
  t.equal(reason([], '0x'), 'no topic')
  t.match(reason([`0x${'00'.repeat(32)}`], '0x'), /^no event of erc20Loans has topic/)
  t.equal(reason([offer.topic, offer.topic], '0x'), 'CreateLoanOffer: 2 topics instead of 1')
  t.equal(reason([offer.topic], `0x${'00'.repeat(65_537)}`), 'CreateLoanOffer: data of 65537 bytes')
  const seize = layouts.find(({ kind }) => kind === 'SeizeCollateral')
  t.match(reason([seize?.topic ?? ''], '0x'), /^no event of erc20Loans/, 'the other contract’s event')
  t.end()
})

void t.test('what is kept of a log that anybody made long does not keep all of it', (t) => {
  const count = 64
  const bytes = 512 * 1024
  const answered = JSON.stringify(`0x${'ab'.repeat(bytes)}`)
  collectGarbage()
  const before = usedBytes()
  const kept = Array.from({ length: count }, () =>
    decodeLog('erc20Loans', { topics: [], data: JSON.parse(answered) as string }),
  )
  collectGarbage()
  const keptBytes = usedBytes() - before
  t.ok(keptBytes < (count * bytes) / 4, `${keptBytes} bytes are kept of ${count} logs of ${bytes} bytes`)
  t.ok(kept.every((decoded) => decoded.kind === 'Undecodable' && decoded.dataBytes === bytes))
  t.end()
})
