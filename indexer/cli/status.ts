import { getStatus, type NetworkLine } from '../event-log/network-status.ts'
import { withDatabase, type OutputOptions } from './context.ts'

const STALE_S = 15

/**
 * What the database knows of every network. Exit code 1 when one is stopped, retrying or not observed any more, or when
 * none of them is configured any more.
 */
export async function runStatus(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const told = await getStatus(db)
    const status = { ...told, networks: told.networks.map(withHeadOf) }
    const configured = status.networks.filter(({ observedSecondsAgo }) => observedSecondsAgo !== null)
    const healthy =
      configured.every((line) => line.state === 'following' && !isStale(line)) &&
      (configured.length > 0 || status.networks.length === 0)
    if (options.json === true) console.log(JSON.stringify(status))
    else {
      console.log(`records ${status.records}, log position ${status.lastPosition}`)
      for (const line of status.networks) console.log(describe(line))
      if (status.networks.length === 0) console.log('no network was ever indexed here')
    }
    if (!healthy) process.exitCode = 1
  })
}

/** The head is told once a second: it can be older than the last block written, which is on the chain as well. */
function withHeadOf(line: NetworkLine): NetworkLine {
  if (line.head === null || line.indexed === null) return line
  return { ...line, head: Math.max(line.head, line.indexed) }
}

function isStale({ observedSecondsAgo }: NetworkLine): boolean {
  return observedSecondsAgo !== null && observedSecondsAgo >= STALE_S
}

function describe(line: NetworkLine): string {
  const seen = isStale(line) ? `not observed for ${Math.round(line.observedSecondsAgo ?? 0)} s` : line.state
  const parts = [
    `${line.network} (${line.blockchain}): ${seen}`,
    `head ${line.head ?? '?'}`,
    `indexed ${line.indexed ?? 'nothing'}`,
    `finalized ${line.finalized ?? '?'}`,
    `queue ${line.queueWaiting ?? '?'} waiting, ${line.queueFailed ?? '?'} failed`,
  ]
  return parts.join(', ') + (line.problem === null ? '' : `\n  ${line.problem}`)
}
