import { raiseWriterEpoch } from '../indexer/event-log/chain-position.ts'
import { ingestStep } from '../indexer/ingest/ingest-step.ts'
import { replay } from '../indexer/ingest/replay.ts'
import { digestReadModel } from '../indexer/projections/digest.store.ts'
import { connect } from '../shared/db/connect.ts'
import { RandomChain } from '../test/helpers/random-chain.ts'
import { startServices } from '../test/helpers/services.ts'
import { machineFacts } from './measure.ts'

const BLOCKS_PER_STEP = 160
const IDENTITY = { network: 'evm:1', blockchain: 'BENCH' }

/** Writing `records` records step by step, and building the read model again from their log: records per second. */
export async function benchReplay(records: number): Promise<void> {
  const services = await startServices(['postgres'])
  const db = connect(`${services.postgresUrl}/${services.template}`, { name: 'bench', max: 4 })
  try {
    console.log(machineFacts())
    const epoch = await raiseWriterEpoch(db, IDENTITY.network, { startNumber: 0, watched: {} })
    const chain = new RandomChain(1)
    await ingestStep(db, IDENTITY, epoch, chain.genesis())
    let written = 0
    let writingMs = 0
    while (written < records) {
      const step = chain.grow(BLOCKS_PER_STEP)
      // The generator keeps its blocks: what was told is not needed again.
      chain.blocks.splice(0, chain.blocks.length - 1)
      const startedMs = performance.now()
      await ingestStep(db, IDENTITY, epoch, { ...step, headers: [] })
      writingMs += performance.now() - startedMs
      written += step.events.length
    }
    const before = await digestReadModel(db)
    const startedMs = performance.now()
    await replay(db, { restart: true, signal: new AbortController().signal, onProgress: () => undefined })
    const replayMs = performance.now() - startedMs
    const after = await digestReadModel(db)
    if (after.digest !== before.digest) throw new Error('the replay gave another digest: no figure')
    const rate = (ms: number): number => Math.round((before.records / ms) * 1000)
    console.log(`\n| ${before.records} records, ${before.loans} loans | seconds | records/s |\n|---|---|---|`)
    console.log(
      `| writing, one step after the other | ${(writingMs / 1000).toFixed(1)} | ${rate(writingMs)} |`,
    )
    console.log(`| replay (same digest) | ${(replayMs / 1000).toFixed(1)} | ${rate(replayMs)} |`)
  } finally {
    await db.destroy()
    await services.stop()
  }
}
