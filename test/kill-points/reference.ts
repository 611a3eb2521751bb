import { buildApp } from '../../api/app.ts'
import { openReadDatabase } from '../../api/queries/read-database.ts'
import { createLogger } from '../../shared/log.ts'
import { compareChannels } from '../helpers/compare-channels.ts'
import { compareWithChain } from '../helpers/compare-with-chain.ts'
import { withoutStranded } from '../helpers/stranded-channels.ts'
import { recordPoints } from './cases.ts'
import { SETTLE_DELAY } from './chains.ts'
import { contentOf } from './examine.ts'
import { openPlace, type Ground, type Place, type QueueKind } from './ground.ts'
import type { PointCount } from './kill-order.ts'

export interface Reference {
  /** Grouped by context, in the order in which they are passed. */
  points: PointCount[]
  /** The content of an index of the last stage. */
  content: string[]
}

/** Makes an undisturbed index. Throws when it differs from the chains' nodes or the player's diary. */
export async function makeReference(ground: Ground, queue: QueueKind): Promise<Reference> {
  const place = await openPlace(ground, queue)
  try {
    const { points, wrong } = await recordPoints(ground, place)
    const differences = [...wrong, ...(await untrue(ground, place))]
    if (differences.length > 0) throw new Error(`the undisturbed index is wrong: ${differences.join('\n')}`)
    const contexts = [...new Set(points.map(({ context }) => context))].sort()
    return {
      content: await contentOf(place.db),
      points: contexts.flatMap((own) => points.filter(({ context }) => context === own)),
    }
  } finally {
    await place.leave()
  }
}

async function untrue({ chains }: Ground, { db, urls }: Place): Promise<string[]> {
  const { anvil, deployment, lotus, player } = chains
  const contracts = await compareWithChain(db, anvil.url, deployment)
  const reading = openReadDatabase(urls.databaseUrl, { onError: () => undefined })
  const app = await buildApp({
    database: reading,
    log: createLogger('kill points', 'silent'),
    version: '0.0.0',
  })
  try {
    const scene = { db, app, rpcUrl: anvil.url, deployment, lotus, player, settleDelayEpochs: SETTLE_DELAY }
    const channels = await compareChannels(scene)
    return [...contracts.differences, ...(await withoutStranded(scene, channels.differences))]
  } finally {
    await app.close()
    await reading.close()
  }
}
