import t from 'tap'
import {
  findCertificates,
  noteCertified,
  putCertificates,
} from '../../../indexer/event-log/certificates.store.ts'
import { findPosition } from '../../../indexer/event-log/chain-position.ts'
import { ingestStep } from '../../../indexer/ingest/ingest-step.ts'
import { keepCertificates, type CertifiedSource } from '../../../indexer/keep-certificates.ts'
import type { Db } from '../../../shared/db/connect.ts'
import type { BlockRef } from '../../../shared/events/chain-step.ts'
import type { CertificateProgress } from '../../../shared/filecoin/f3/progress.ts'
import { createLogger } from '../../../shared/log.ts'
import { testDatabase } from '../../helpers/database.ts'
import { FILECOIN, ingestLedger } from '../../helpers/ingest-ledger.ts'
import { eventually } from '../../helpers/programs.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

const { network } = FILECOIN

/** How far instances up to this one are verified. */
function progress(instance: number, pin = 0): CertificateProgress {
  const table = (instance: number) => ({ instance, powerTable: `table ${instance}` })
  return {
    network: 'devnet',
    pinned: table(pin),
    next: table(instance + 1),
    head: { epoch: instance, key: `tipset ${instance}` },
  }
}

async function certifiedAt(db: Db): Promise<number | null> {
  const row = await db
    .selectFrom('ledger.chain_position')
    .select('certified')
    .where('network', '=', network)
    .executeTakeFirstOrThrow()
  return row.certified
}

/** A network of which blocks are written, and the last of them. */
async function written(t: Parameters<typeof testDatabase>[0]): Promise<{ db: Db; block: BlockRef }> {
  const { db } = await testDatabase(t)
  await ingestLedger(db, FILECOIN, tellStories(1, 1, { market: 'fil', end: 'repaid' }).filecoin)
  const block = (await findPosition(db, network))?.block
  if (block == null) throw new Error('nothing was written')
  return { db, block }
}

void t.test('what is verified is never lowered, but for another pinned table', async (t) => {
  const { db } = await written(t)
  t.equal(await findCertificates(db, network), null)
  for (const kept of [progress(3), progress(5)]) {
    await putCertificates(db, network, kept)
    t.same(await findCertificates(db, network), kept)
  }
  await putCertificates(db, network, progress(4))
  t.same(await findCertificates(db, network), progress(5), 'of a reader that was superseded')
  await putCertificates(db, network, progress(4, 2))
  t.same(await findCertificates(db, network), progress(4, 2))
  await noteCertified(db, network, 9)
  await noteCertified(db, network, 7)
  t.equal(await certifiedAt(db), 9)
  await putCertificates(db, network, progress(6, 2))
  t.equal(await certifiedAt(db), 9)
  await putCertificates(db, network, progress(4, 3))
  t.equal(await certifiedAt(db), null, 'a claim of another pinned table')
})

void t.test('a table that the configuration replaces takes its claim with it', async (t) => {
  const { db } = await written(t)
  await putCertificates(db, network, progress(3))
  await noteCertified(db, network, 9)
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const begun: (CertificateProgress | null)[] = []
  const source: CertifiedSource = {
    // The source refuses the stored table, and no endpoint has certificates of the configured one.
    certificates: { begin: (known) => void begun.push(known), progress: null },
    certified: () => null,
    finalHeader: () => Promise.reject(new Error('nothing is certified')),
    maxBlockRange: 99,
  }
  const health = { network, fail: () => undefined, clear: () => undefined }
  const keeping = keepCertificates(
    { health, db, log: createLogger('test', 'silent'), signal: stop.signal },
    source,
  )
  await eventually('the claim is gone', async () => (await certifiedAt(db)) === null)
  t.same(begun, [progress(3)])
  t.equal(await findCertificates(db, network), null)
  stop.abort()
  await keeping
})

void t.test('a certified block must be ours, and final', async (t) => {
  const { db, block } = await written(t)
  await putCertificates(db, network, progress(3))
  const problems: string[] = []
  const stop = new AbortController()
  const looks = { count: 0, begun: null as CertificateProgress | null }
  let certified: BlockRef | null = block
  let ours = 'another'
  const source: CertifiedSource = {
    certificates: {
      begin: (known) => {
        looks.begun = known
      },
      progress: progress(6),
    },
    certified: () => {
      looks.count += 1
      return certified
    },
    finalHeader: (_final, number) => Promise.resolve({ number, hash: ours, parentHash: '', timeS: 0 }),
    maxBlockRange: 99,
  }
  const health = {
    network,
    fail: (_source: string, _kind: string, message: string) => void problems.push(message),
    clear: () => void problems.splice(0),
  }
  const keeping = keepCertificates(
    { health, db, log: createLogger('test', 'silent'), signal: stop.signal },
    source,
  )
  await eventually('it looks twice', () => looks.count > 1)
  t.same(looks.begun, progress(3), 'it goes on where it stopped')
  t.same(await findCertificates(db, network), progress(6))
  t.equal(await certifiedAt(db), null, 'nothing is final yet')

  const epoch = (await findPosition(db, network))?.writerEpoch ?? 0
  await ingestStep(db, FILECOIN, epoch, { type: 'finalized', block })
  await eventually('it is certified', async () => (await certifiedAt(db)) === block.number)
  certified = { number: block.number - 1, hash: 'theirs' }
  t.same(problems, [])

  // An earlier block was certified by a node of another branch, say.
  stop.abort()
  await keeping
  const again = new AbortController()
  const second = keepCertificates(
    { health, db, log: createLogger('test', 'silent'), signal: again.signal },
    source,
  )
  await eventually('a contradiction is a problem', () => problems.length > 0)
  t.match(problems[0], /block \d+ is another here, but theirs is certified/)
  ours = 'theirs'
  await eventually('it is one no more', () => problems.length === 0)
  t.equal(await certifiedAt(db), block.number)
  again.abort()
  await second
})

void t.test('a certified block too far below the final one to be linked to it waits', async (t) => {
  const { db, block } = await written(t)
  const epoch = (await findPosition(db, network))?.writerEpoch ?? 0
  await ingestStep(db, FILECOIN, epoch, { type: 'finalized', block })
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  let certified: BlockRef = { number: block.number - 3, hash: 'certified' }
  let looks = 0
  const source: CertifiedSource = {
    certificates: { begin: () => undefined, progress: progress(3) },
    certified: () => {
      looks += 1
      return certified
    },
    // The endpoint has the certified branch, whatever the index has.
    finalHeader: (_final, number) => Promise.resolve({ number, hash: 'certified', parentHash: '', timeS: 0 }),
    maxBlockRange: 2,
  }
  const health = { network, fail: () => undefined, clear: () => undefined }
  const keeping = keepCertificates(
    { health, db, log: createLogger('test', 'silent'), signal: stop.signal },
    source,
  )
  await eventually('it looks twice', () => looks > 1)
  t.equal(await certifiedAt(db), null)
  certified = { number: block.number - 2, hash: 'certified' }
  await eventually('a later certificate counts', async () => (await certifiedAt(db)) === certified.number)
  stop.abort()
  await keeping
})
