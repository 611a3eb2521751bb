import { judgeNetwork, NOT_FOLLOWED, type NetworkHealth } from '../../shared/indexing-health.ts'
import { getStatus } from '../event-log/network-status.ts'
import { withDatabase, type OutputOptions } from './context.ts'

/**
 * Prints the database's state of every network, with the API's verdict. Sets exit code 1 when no network is configured.
 * A configured network also sets it while it is not fresh or not followed, for example while its node is unavailable.
 */
export async function runStatus(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const told = await getStatus(db)
    const networks = told.networks.map((row) => ({
      ...judgeNetwork(row),
      /** The writer's host and process id, or null without a writer. */
      leader: row.leader,
      /** Null when no indexer is configured to follow the network any more. */
      observedSecondsAgo: row.observedAgoS === null ? null : Math.max(0, row.observedAgoS),
    }))
    const configured = networks.filter(({ state }) => state !== NOT_FOLLOWED)
    const healthy =
      configured.length > 0 && configured.every(({ state, synced }) => state === 'following' && synced)
    if (options.json === true) console.log(JSON.stringify({ ...told, networks }))
    else {
      console.log(`records ${told.records}, log position ${told.lastPosition}`)
      for (const network of networks) console.log(describe(network))
      if (networks.length === 0) console.log('no network was ever indexed here')
    }
    if (!healthy) process.exitCode = 1
  })
}

function describe(network: NetworkHealth & { leader: string | null }): string {
  const parts = [
    `${network.network} (${network.blockchain ?? '?'}): ${network.state}`,
    `head ${network.head ?? '?'}`,
    `indexed ${network.indexed ?? 'nothing'}`,
    `finalized ${network.finalized ?? '?'}`,
    `queue ${network.queueWaiting ?? '?'} waiting, ${network.queueFailed ?? '?'} failed`,
    `leader ${network.leader ?? 'none'}`,
  ]
  const { note, problem } = network
  const isTold = problem === null || note.includes(problem)
  return `${parts.join(', ')}\n  ${note}${isTold ? '' : `\n  ${problem}`}`
}
