import fc from 'fast-check'
import { sql } from 'kysely'
import t from 'tap'
import { DEAD_LETTERS_KEPT, putDeadLetter } from '../../../indexer/ingest/dead-letters.store.ts'
import {
  getKnown,
  HANDED_IN_PER_CHANNEL,
  ingestAwaited,
  ingestHandedIn,
  type HandInOutcome,
} from '../../../indexer/ingest/ingest-voucher.ts'
import { appendOffchain } from '../../../indexer/ingest/ingest-step.ts'
import { replay } from '../../../indexer/ingest/replay.ts'
import { digestReadModel } from '../../../indexer/projections/digest.store.ts'
import {
  getAwaited,
  WAITING_KEPT,
  WAITING_PER_CHANNEL,
  type Known,
} from '../../../indexer/ingest/waiting-vouchers.store.ts'
import type { Db } from '../../../shared/db/connect.ts'
import { inTransaction } from '../../../shared/db/transaction.ts'
import type { HandedIn } from '../../../shared/events/handed-in.ts'
import { formatAddress, idAddress } from '../../../shared/filecoin/address.ts'
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
import { cases } from '../../helpers/cases.ts'
import { actorAddress } from '../../../devnet/filecoin/codec.ts'

t.setTimeout(900_000)

type Test = Parameters<typeof testDatabase>[0]

function handIn(db: Db, item: HandedIn | string): Promise<HandInOutcome> {
  return ingestHandedIn(
    db,
    { network: NETWORK, item: typeof item === 'string' ? { voucher: item } : item },
    'queue',
  )
}

/** As the indexer does once a minute, or (`from` given) every second. */
async function lookAgain(db: Db, from?: Known): Promise<HandInOutcome[]> {
  const { outcomes } = await ingestAwaited(db, NETWORK, {
    of: from === undefined ? 'all' : 'changed',
    from: from ?? { position: 0, finalizedEpoch: -1 },
    to: await getKnown(db, NETWORK),
    afterId: 0,
    limit: 100,
  })
  return outcomes
}

/** An empty log, and the read model of it. */
async function beginAnew(db: Db): Promise<void> {
  await sql`truncate ledger.event_log, ledger.chain_position, ledger.block_headers, ledger.block_positions,
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
  t.same(await lookAgain(db), [], 'nothing is looked at while nothing changed')
  await chain.append()
  t.same(await lookAgain(db), [])
  await chain.append(creation())
  t.match(await lookAgain(db), [{ outcome: 'accepted' }, { outcome: 'waiting' }, { outcome: 'accepted' }])
  const before = await getKnown(db, NETWORK)
  await lookAgain(db)
  t.same(await lookAgain(db, before), [], 'nothing became final')
  await chain.finalize()
  t.match(await lookAgain(db, before), [{ outcome: 'refused' }])
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
  t.match(await lookAgain(db), [{ outcome: 'accepted' }, { outcome: 'waiting' }])
  await lookAgain(db)
  t.same(await lookAgain(db), [], 'looked at once for each change')
  await chain.append(settleChannel({ height: 0, to: ROBUST, settlingAtEpoch: chain.next + 1 }))
  await chain.append(collectChannel({ height: 0, to: ROBUST }))
  t.match(await lookAgain(db), [{ outcome: 'waiting', reason: /701/ }], 'a reorg could undo the collection')
  await chain.finalize()
  t.match(await lookAgain(db), [{ outcome: 'refused' }])
  t.equal(await waitingCount(db), 0)
  t.match(await deadLetters(db), [{ reason: /amount 701 is more than the channel ever held \(700\)/ }])
})

void t.test('a reorg that takes funds away leaves what was accepted over them', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append(creation())
  await chain.append(fundChannel({ height: 0, to: ROBUST, value: '200' }))
  const before = signedText({ amount: 700n })
  const later = signedText({ amount: 700n, nonce: 2n })
  t.match(await handIn(db, before), { outcome: 'accepted' })
  await chain.reorg(1)
  t.match(await handIn(db, later), { outcome: 'waiting', reason: /held \(500\)/ })
  t.match(await handedInEvents(db), [{ txHash: before }])
  const seen = await getKnown(db, NETWORK)
  await chain.append(fundChannel({ height: 0, to: ROBUST, value: '200' }))
  t.match(await lookAgain(db, seen), [{ outcome: 'accepted' }], 'the funds came in this branch too')
  await digests(t, db)
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
  t.match(await handIn(db, byId), { outcome: 'waiting', reason: /neither party/ })
  const ended = signedText({ timeLockMax: 1001n, nonce: 9n })
  t.match(await handIn(db, ended), { outcome: 'accepted' }, 'made at 1001 in this branch')
  t.match(await handIn(db, signedText({ channelAddr: idAddress(1235n) })), { outcome: 'accepted' })
  t.match(await handIn(db, signedText({ nonce: 2n })), { outcome: 'accepted' })
  const seen = await getKnown(db, NETWORK)
  await chain.reorg(1)
  t.match(await handIn(db, signedText({ nonce: 3n })), { outcome: 'waiting' }, 'the channel is gone')
  t.same(await lookAgain(db, seen), [])
  await chain.append(creation())
  const came = await lookAgain(db, seen)
  t.match(came, [{ outcome: 'accepted' }, { outcome: 'accepted' }], 'the ID is this channel’s again')
  t.equal(await waitingCount(db), 0)
  t.same(await deadLetters(db), [])
})

void t.test('a voucher that ended before its channel was made waits until that is final', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append()
  await chain.append(creation())
  const ended = signedText({ timeLockMax: 1000n })
  t.match(await handIn(db, ended), { outcome: 'waiting', reason: /before the channel was made at 1001/ })
  t.match(await handIn(db, { statement: signStatement(STATEMENT, keyOf('x')) }), { outcome: 'waiting' })
  await chain.reorg(2, creation())
  t.match(await lookAgain(db), [{ outcome: 'accepted' }, { outcome: 'waiting' }], 'made at 1000 here')
  await chain.finalize()
  t.match(await lookAgain(db), [{ outcome: 'refused', reason: /did not pay/ }])
})

void t.test('what can never be a fact is refused with the reason', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append(creation())
  await chain.finalize()
  const refused: [HandedIn | string, RegExp][] = [
    ['%%%', /base64/],
    ['AAAA', /./],
    [signedText().slice(0, -8), /./],
    [signedText({ lane: 2n ** 63n }), /lane/],
    [signedText({}, keyOf('stranger')), /neither party/],
    [{ statement: { message: '{}', signature: '00'.repeat(65) } }, /contractLoanId/],
    [{ statement: signStatement(STATEMENT, LENDER) }, /not 65 bytes/],
    [{ statement: signStatement(STATEMENT, keyOf('stranger')) }, /did not pay/],
    [signedText({ amount: 501n }, keyOf('stranger')), /neither party/],
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
  t.match(
    await handIn(db, signedText({ nonce: 1000n }, LENDER)),
    { outcome: 'accepted' },
    'each party has its own',
  )
})

void t.test('what waits is bounded: for one channel, newcomers have to go', async (t) => {
  const { db } = await testDatabase(t)
  const first = signedText({ amount: 600n, nonce: 1000n })
  await handIn(db, first)
  for (let nonce = 1; nonce < WAITING_PER_CHANNEL; nonce += 1)
    await handIn(db, signedText({ nonce: BigInt(nonce) }, keyOf('stranger')))
  t.match(await handIn(db, signedText({ nonce: 99n })), {
    outcome: 'refused',
    reason: /too many others wait/,
  })
  t.match(await handIn(db, first), { outcome: 'waiting' }, 'it has its place')
  t.equal(await waitingCount(db), WAITING_PER_CHANNEL)
  const chain = await writeChain(db)
  await chain.append(creation())
  const tooMuch = signedText({ amount: 600n, nonce: 100n })
  t.match(await handIn(db, tooMuch), { outcome: 'waiting' }, 'what a party signed finds a place')
  t.match(await handIn(db, signedText({ amount: 600n }, keyOf('stranger'))), { outcome: 'refused' })
  await chain.append(fundChannel({ height: 0, to: ROBUST, value: '100' }))
  await chain.finalize()
  const outcomes = await lookAgain(db)
  t.equal(outcomes.filter(({ outcome }) => outcome === 'accepted').length, 2)
  t.equal(outcomes.filter(({ outcome }) => outcome === 'refused').length, WAITING_PER_CHANNEL - 1)
  t.equal(await waitingCount(db), 0)
})

void t.test('what waits is bounded: of all channels, the oldest become dead letters', async (t) => {
  const { db } = await testDatabase(t)
  const oldest = signedText()
  await handIn(db, oldest)
  await waitForMany(db, WAITING_KEPT - 1)
  await handIn(db, signedText({ channelAddr: idAddress(77n) }))
  t.equal(await waitingCount(db), WAITING_KEPT)
  t.match(await deadLetters(db), [{ reason: /too many others wait/, payload: { voucher: oldest } }])
})

void t.test('with all places taken a look each second is cheap, and finds what changed', async (t) => {
  const { db } = await testDatabase(t)
  const chain = await writeChain(db)
  await chain.append()
  await waitForMany(db, WAITING_KEPT - 1)
  const text = signedText()
  await handIn(db, text)
  const from = await getKnown(db, NETWORK)
  await chain.append(creation())
  const look = { from, to: await getKnown(db, NETWORK), afterId: 0, limit: 100 }
  for (const of of ['changed', 'all'] as const)
    await db.transaction().execute(async (trx) => {
      const before = await rowsOfWaitingRead(trx)
      t.match(await getAwaited(trx, NETWORK, { ...look, of }), [{ item: { voucher: text } }], of)
      const read = (await rowsOfWaitingRead(trx)) - before
      t.ok(of === 'all' ? read >= WAITING_KEPT : read <= 10, `${of} reads ${read} rows`)
    })
  const page = await ingestAwaited(db, NETWORK, { ...look, of: 'changed', limit: 1 })
  t.match(page, { outcomes: [{ outcome: 'accepted' }], nextAfterId: WAITING_KEPT })
})

/** In this transaction, and in those of its session whose statistics wait. */
async function rowsOfWaitingRead(trx: Db): Promise<number> {
  const { rows } = await sql<{ read: number }>`select seq_tup_read + idx_tup_fetch as read
    from pg_stat_xact_user_tables where relname = 'waiting_vouchers'`.execute(trx)
  return rows[0]?.read ?? NaN
}

/** Vouchers for as many channels that nobody made. */
async function waitForMany(db: Db, count: number): Promise<void> {
  await sql`insert into ledger.waiting_vouchers (network, digest, channel_addr, payload, way, reason, looked_position)
    select ${NETWORK}, 'd' || n, 't2' || n, '{"voucher":"AAAA"}', 'import', 'none', 0
    from generate_series(1, ${count}::integer) n`.execute(db)
}

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

void t.test('a voucher that is refused again by another way stays the letter that it was', async (t) => {
  const { db } = await testDatabase(t)
  const payload = { network: 'testnet', voucher: 'AAAA' }
  const put = (queue: string, reason: string): Promise<void> =>
    putDeadLetter(db, { queue, jobId: null, network: 'testnet', payload, reason })
  await put('node-store', 'no voucher')
  await put('vouchers', 'still none')
  t.match(await deadLetters(db), [{ queue: 'node-store', attempts: 2, reason: 'still none' }])
  await put('import', 'none at all')
  await put('node-store', 'none')
  t.match(await deadLetters(db), [{ queue: 'node-store', attempts: 4, reason: 'none' }])
  t.equal((await deadLetters(db)).length, 1)

  await put('steps-evm-1', 'a step')
  await put('steps-evm-2', 'a step')
  t.match(await deadLetters(db), [{}, { queue: 'steps-evm-1' }, { queue: 'steps-evm-2' }], 'steps are not')
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
          await lookAgain(db)
        }
        await chain.finalize()
        await lookAgain(db)
        t.equal((await handedInEvents(db)).length, expected)
        t.equal(await waitingCount(db), 0)
      },
    ),
    { numRuns: cases(15) },
  )
})
