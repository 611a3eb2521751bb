import fc from 'fast-check'
import t from 'tap'
import { cidText } from '../../../../../devnet/filecoin/chain/block.ts'
import { ReceiptsProof } from '../../../../../indexer/sources/filecoin/proof/receipts-proof.ts'
import { LotusRules } from '../../../../../indexer/sources/filecoin/proof/lotus-rules.ts'
import { BadAnswer } from '../../../../../indexer/sources/rpc/rpc-error.ts'
import { blockCid } from '../../../../../shared/filecoin/block-cid.ts'
import { RECEIPT_FIELDS, receiptsRoot } from '../../../../../shared/filecoin/receipt.ts'
import { cases } from '../../../../helpers/cases.ts'
import { receiptVectors } from '../../../../helpers/proof-vectors.ts'

const receipt = fc.record({
  exitCode: fc.nat(40),
  returned: fc.uint8Array({ maxLength: 60 }),
  gasUsed: fc.oneof(fc.nat(), fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n - 1n })),
  eventsRoot: fc.option(fc.uint8Array({ maxLength: 9 }).map(blockCid)),
  ipldCodec: fc.constantFrom(0, 0x51, 0x71),
  message: fc.uint8Array({ maxLength: 9 }).map(blockCid),
})
type Receipt = Parameters<typeof receiptsRoot>[0][number]

function jsonOf({
  exitCode,
  returned,
  gasUsed,
  eventsRoot,
  ipldCodec,
  message,
}: Receipt): Record<string, unknown> {
  return {
    ExitCode: exitCode,
    Return: returned.length === 0 ? null : Buffer.from(returned).toString('base64'),
    GasUsed: gasUsed,
    EventsRoot: eventsRoot === null ? null : { '/': cidText(eventsRoot) },
    IpldCodec: ipldCodec,
    Message: message === null || message === undefined ? null : { '/': cidText(message) },
  }
}

void t.test('published receipts are those under their root', (t) => {
  const proof = new ReceiptsProof(new LotusRules())
  for (const { root, receipts } of receiptVectors()) {
    proof.check(receipts, root, 1)
    t.throws(() => proof.check(receipts.slice(1), root, 1), BadAnswer)
    t.throws(() => proof.check([...receipts, receipts[0]], root, 1), BadAnswer)
    t.throws(
      () =>
        proof.check(
          receipts.map((receipt) => ({ ...receipt, GasUsed: 1 })),
          root,
          1,
        ),
      BadAnswer,
    )
  }
  const empty = 'bafy2bzacedswlcz5ddgqnyo3sak3jmhmkxashisnlpq6ujgyhe4mlobzpnhs6'
  for (const nothing of [null, []]) t.doesNotThrow(() => proof.check(nothing, empty, 35), 'an empty tipset')
  t.throws(() => proof.check([], 'bafy', 35), BadAnswer, 'a root that is no CID')
  t.end()
})

void t.test('receipts of 3, 4 and 6 fields are known by their root, in any order of tipsets', (t) => {
  const proof = new ReceiptsProof(new LotusRules())
  const list = fc.array(receipt, { minLength: 1, maxLength: 30 })
  fc.assert(
    fc.property(list, fc.constantFrom(...RECEIPT_FIELDS), (receipts, fields) => {
      proof.check(receipts.map(jsonOf), cidText(receiptsRoot(receipts, fields)), 1)
    }),
  )
  t.pass('held')
  t.end()
})

const text = (_: string, value: unknown): unknown => (typeof value === 'bigint' ? value.toString() : value)

void t.test('no lie about receipts is believed', (t) => {
  const proof = new ReceiptsProof(new LotusRules())
  const list = fc.array(receipt, { minLength: 2, maxLength: 20 })
  const lies = ['left out', 'added', 'swapped', 'exit code', 'return', 'gas', 'events'] as const
  let told = 0
  fc.assert(
    fc.property(
      list,
      fc.nat(),
      fc.constantFrom(...lies),
      fc.constantFrom(3, 4),
      (receipts, at, lie, fields) => {
        const truth = receipts.map(jsonOf)
        const root = cidText(receiptsRoot(receipts, fields))
        const said = lyingOf(truth, at % truth.length, lie)
        // Receipts of three fields name no events, and receipts may be equal.
        if (JSON.stringify(seen(said, fields), text) === JSON.stringify(seen(truth, fields), text)) return
        told += 1
        t.throws(() => proof.check(said, root, 1), BadAnswer)
      },
    ),
    { numRuns: cases(10_000) },
  )
  t.ok(told > cases(10_000) / 2, `${told} lies`)
  t.end()
})

function seen(list: Record<string, unknown>[], fields: 3 | 4): unknown {
  return list.map(({ ExitCode, Return, GasUsed, EventsRoot }) => [
    ...[ExitCode, Return, GasUsed],
    ...(fields === 4 ? [EventsRoot] : []),
  ])
}

function lyingOf(list: Record<string, unknown>[], at: number, lie: string): Record<string, unknown>[] {
  const one = list[at] ?? {}
  const other = (fields: object): Record<string, unknown>[] => list.with(at, { ...one, ...fields })
  switch (lie) {
    case 'left out':
      return list.toSpliced(at, 1)
    case 'added':
      return [...list, one]
    case 'swapped':
      return list.with(at, list[0] ?? one).with(0, one)
    case 'exit code':
      return other({ ExitCode: one['ExitCode'] === 0 ? 16 : 0 })
    case 'return':
      return other({ Return: one['Return'] === null ? 'gA==' : null })
    case 'gas':
      return other({ GasUsed: 7 })
    default:
      return other({
        EventsRoot: one['EventsRoot'] === null ? { '/': cidText(blockCid(Uint8Array.of(1))) } : null,
      })
  }
}
