import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { DEAD_LETTERS_KEPT, putDeadLetter } from '../../../indexer/ingest/dead-letters.store.ts'
import {
  HANDED_IN_PER_CHANNEL,
  ingestAwaited,
  ingestHandedIn,
  type HandInOutcome,
} from '../../../indexer/ingest/ingest-voucher.ts'
import { appendOffchain } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { HandedIn } from '../../../shared/events/handed-in.ts'
import { actorAddress, formatAddress, idAddress } from '../../../shared/filecoin/address.ts'
import { collectChannel, fundChannel, settleChannel } from '../../helpers/channel-events.ts'
import { testDatabase } from '../../helpers/database.ts'
import {
  creation,
  deadLetters,
  handedInEvents,
  NETWORK,
  ROBUST,
  waitingCount,
  writeChain,
} from '../../helpers/handed-in.ts'
import {
  BORROWER,
  CHANNEL_ID,
  identityOf,
  keyOf,
  LENDER,
  signedText,
  signStatement,
  STATEMENT,
  textOf,
} from '../../helpers/signed-vouchers.ts'

t.setTimeout(300_000)

type Test = Parameters<typeof testDatabase>[0]

function handIn(db: Db, item: HandedIn | string): Promise<HandInOutcome> {
  return ingestHandedIn(
    db,
    { network: NETWORK, item: typeof item === 'string' ? { voucher: item } : item },
    'queue',
  )
}

/** An empty log, and the read model of it. */
async function beginAnew(db: Db): Promise<void> {
  await sql`truncate ledger.event_log, ledger.live_entries, ledger.chain_position, ledger.block_headers,
    ledger.channel_addresses, ledger.waiting_vouchers, ledger.dead_letters`.execute(db)
  await sql`update ledger.log_head set last_position = 0`.execute(db)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
}

async function digests(t: Test, db: Db): Promise<void> {
  const digest = await digestReadModel(db)
  await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
  t.same(await digestReadModel(db), digest, 'a replay gives the same read model')
}

void t.test('a voucher and a statement become facts, once', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append(creation())
  const text = signedText()
  t.same(await handIn(db, text), { outcome: 'accepted' })
  t.same(await handIn(db, text), { outcome: 'known' })
  const urlForm = text.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
  t.same(await handIn(db, urlForm), { outcome: 'known' }, 'the other base64 is the same voucher')
  t.same(await handIn(db, signedText({ channelAddr: idAddress(CHANNEL_ID) }, LENDER)), {
    outcome: 'accepted',
  })
  const statement = signStatement(STATEMENT)
  t.same(await handIn(db, { statement }), { outcome: 'accepted' })
  t.same(await handIn(db, { statement }), { outcome: 'known' })
  t.match(await handedInEvents(db), [
    { kind: 'SignedVoucher', channel: ROBUST, signer: textOf(BORROWER), way: 'queue', txHash: text },
    { kind: 'SignedVoucher', channel: ROBUST, signer: textOf(LENDER) },
    { kind: 'SignedStatement', channel: ROBUST, contractLoanId: '42', networkId: '31337' },
  ])
  await digests(t, db)
})

void t.test('twenty at once are one', async (t) => {
  const { db } = await testDatabase(t)
  await (await writeChain(db)).append(creation())
  const text = signedText()
  const outcomes = await Promise.all(Array.from({ length: 20 }, () => handIn(db, text)))
  t.equal(outcomes.filter(({ outcome }) => outcome === 'accepted').length, 1)
  t.equal(outcomes.filter(({ outcome }) => outcome === 'known').length, 19)
  t.equal((await handedInEvents(db)).length, 1)
})

void t.test('what comes before its channel waits for it, and is judged then', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  const good = signedText()
  const bad = signedText({}, keyOf('stranger'))
  t.match(await handIn(db, good), { outcome: 'waiting', reason: /no channel t2/ })
  t.match(await handIn(db, good), { outcome: 'waiting' })
  t.match(await handIn(db, bad), { outcome: 'waiting' })
  t.match(await handIn(db, { statement: signStatement(STATEMENT) }), { outcome: 'waiting' })
  t.equal(await waitingCount(db), 3)
  t.same(await ingestAwaited(db, NETWORK, 100), [], 'nothing is looked at while nothing changed')
  await chain.append()
  t.same(await ingestAwaited(db, NETWORK, 100), [])
  await chain.append(creation())
  t.match(await ingestAwaited(db, NETWORK, 100), [
    { outcome: 'accepted' },
    { outcome: 'refused' },
    { outcome: 'accepted' },
  ])
  t.equal(await waitingCount(db), 0)
  t.equal((await handedInEvents(db)).length, 2)
  t.match(await deadLetters(db), [
    { queue: 'vouchers', reason: /neither party/, payload: { network: 'testnet', voucher: bad } },
  ])
})

void t.test('too much for now waits for more funds, until the channel is collected', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append(creation())
  t.match(await handIn(db, signedText({ amount: 600n })), { outcome: 'waiting', reason: /held \(500\)/ })
  t.match(await handIn(db, signedText({ amount: 701n })), { outcome: 'waiting' })
  await chain.append(fundChannel({ height: 0, to: ROBUST, value: '200' }))
  t.match(await ingestAwaited(db, NETWORK, 100), [{ outcome: 'accepted' }, { outcome: 'waiting' }])
  await ingestAwaited(db, NETWORK, 100)
  t.same(await ingestAwaited(db, NETWORK, 100), [], 'looked at once for each change')
  await chain.append(settleChannel({ height: 0, to: ROBUST, settlingAtEpoch: chain.next + 1 }))
  await chain.append(collectChannel({ height: 0, to: ROBUST }))
  t.match(await ingestAwaited(db, NETWORK, 100), [{ outcome: 'refused' }])
  t.equal(await waitingCount(db), 0)
  t.match(await deadLetters(db), [{ reason: /amount 701 is more than the channel ever held \(700\)/ }])
})

void t.test('a reorg that gives the ID to another channel moves what it names', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  const other = formatAddress(actorAddress(Uint8Array.of(9)), 't')
  await chain.append()
  await chain.append(creation())
  // In the other branch the ID is another channel's, between other parties.
  const foreign = creation({ cid: 'other', channel: other } as Partial<ReturnType<typeof creation>>)
  const theirs = {
    ...foreign,
    txHash: 'other',
    channel: other,
    from: identityOf(keyOf('x')),
    recipient: identityOf(keyOf('y')),
  }
  await chain.reorg(1, theirs, { ...creation(), channelId: 't01235' })
  const byId = signedText({ channelAddr: idAddress(CHANNEL_ID) })
  t.match(await handIn(db, byId), { outcome: 'refused', reason: /neither party/ })
  t.match(await handIn(db, signedText({ channelAddr: idAddress(1235n) })), { outcome: 'accepted' })
  t.match(await handIn(db, signedText({ nonce: 2n })), { outcome: 'accepted' })
  await chain.reorg(1)
  t.match(await handIn(db, signedText({ nonce: 3n })), { outcome: 'waiting' }, 'the channel is gone')
})

void t.test('what can never be a fact is refused with the reason', async (t) => {
  const { db } = await testDatabase(t)
  await (await writeChain(db)).append(creation())
  const refused: [HandedIn | string, RegExp][] = [
    ['%%%', /base64/],
    ['AAAA', /./],
    [signedText().slice(0, -8), /./],
    [signedText({ lane: 2n ** 63n }), /lane/],
    [signedText({}, keyOf('stranger')), /neither party/],
    [{ statement: { message: '{}', signature: '00'.repeat(65) } }, /contractLoanId/],
    [{ statement: signStatement(STATEMENT, LENDER) }, /not 65 bytes/],
    [
      { statement: signStatement({ ...STATEMENT, paymentChannelAddress: textOf(BORROWER) }) },
      /no address of an actor/,
    ],
  ]
  for (const [item, reason] of refused) t.match(await handIn(db, item), { outcome: 'refused', reason })
  t.same(await handedInEvents(db), [])
  t.equal(await waitingCount(db), 0)
})

void t.test('no channel takes more than its share', async (t) => {
  const { db } = await testDatabase(t)
  await (await writeChain(db)).append(creation())
  await handIn(db, signedText({ nonce: 0n }))
  const [first] = await handedInEvents(db)
  if (first?.kind !== 'SignedVoucher') throw new Error('no voucher was written')
  const others = Array.from({ length: HANDED_IN_PER_CHANNEL - 2 }, (_, i) => ({
    ...first,
    voucher: { ...first.voucher, key: `key ${i}` },
  }))
  await inTransaction(db, (trx) =>
    appendOffchain(trx, { network: 'offchain:testnet', blockchain: 'FIL' }, others),
  )
  t.match(await handIn(db, signedText({ nonce: 999n })), { outcome: 'accepted' }, 'the last one')
  t.match(await handIn(db, signedText({ nonce: 1000n })), { outcome: 'refused', reason: /no more/ })
  t.match(await handIn(db, signedText({ nonce: 0n })), { outcome: 'known' })
})

void t.test('what waits is bounded: the oldest become dead letters', async (t) => {
  const { db } = await testDatabase(t)
  for (let nonce = 0; nonce < 70; nonce += 1) await handIn(db, signedText({ nonce: BigInt(nonce) }))
  t.equal(await waitingCount(db), 64)
  const letters = await deadLetters(db)
  t.equal(letters.length, 6)
  t.match(letters[0], { reason: /too many others wait/, payload: { voucher: signedText({ nonce: 0n }) } })
  await sql`insert into ledger.waiting_vouchers (network, digest, channel_addr, payload, way, reason, looked_position)
    select ${NETWORK}, 'd' || n, 't2' || n, '{"voucher":"AAAA"}', 'import', 'none', 0 from generate_series(1, 9936) n`.execute(
    db,
  )
  await handIn(db, signedText({ channelAddr: idAddress(77n) }))
  t.equal(await waitingCount(db), 10_000)
})

void t.test('dead letters are bounded, and the same thing is one', async (t) => {
  const { db } = await testDatabase(t)
  const put = (payload: unknown): Promise<void> =>
    putDeadLetter(db, { queue: 'vouchers', jobId: 'a\0b', network: null, payload, reason: 'bad\0' })
  for (let i = 0; i < 3; i += 1) await put({ b: 1, a: 'x' })
  t.match(await deadLetters(db), [{ attempts: 3 }])
  await sql`insert into ledger.dead_letters (queue, digest, payload, payload_bytes, is_cut, reason)
    select 'vouchers', 'd' || n, '{}', 2, false, 'many' from generate_series(1, ${DEAD_LETTERS_KEPT}) n`.execute(
    db,
  )
  await put({ newest: true })
  const letters = await deadLetters(db)
  t.equal(letters.length, DEAD_LETTERS_KEPT)
  t.match(letters.at(-1), { payload: { newest: true } })
})

void t.test('vouchers and tipsets in any order end in the same facts', async (t) => {
  const { db } = await testDatabase(t)
  const items: HandedIn[] = [
    { voucher: signedText() },
    { voucher: signedText({ amount: 600n, nonce: 2n }) },
    { voucher: signedText({ channelAddr: idAddress(CHANNEL_ID), nonce: 3n }, LENDER) },
    { voucher: signedText({}, keyOf('stranger')) },
    { statement: signStatement(STATEMENT) },
    { statement: signStatement(STATEMENT, keyOf('stranger')) },
  ]
  const expected = 4
  await fc.assert(
    fc.asyncProperty(
      fc.shuffledSubarray(items, { minLength: items.length }),
      fc.array(fc.nat(items.length), { minLength: 2, maxLength: 2 }),
      async (order, times) => {
        await beginAnew(db)
        const chain = await writeChain(db)
        const [first = 0, second = 0] = [...times].sort((a, b) => a - b)
        for (let i = 0; i <= order.length; i += 1) {
          if (i === first) await chain.append(creation())
          if (i === second) await chain.append(fundChannel({ height: 0, to: ROBUST, value: '200' }))
          const item = order[i]
          if (item !== undefined) await handIn(db, item)
          await ingestAwaited(db, NETWORK, 100)
        }
        t.equal((await handedInEvents(db)).length, expected)
        t.equal(await waitingCount(db), 0)
      },
    ),
    { numRuns: 15 },
  )
})
