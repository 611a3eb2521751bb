import { PROOF_KINDS } from '../../shared/events/proof-kind.ts'
import {
  judgeNetwork,
  NOT_FOLLOWED,
  type JudgedNetwork,
  type ProofReport,
  type RoleReport,
} from '../../shared/indexing-health.ts'
import { getStatus } from '../event-log/network-status.ts'
import { withDatabase, type OutputOptions } from './context.ts'

/**
 * Prints the database's state of every network, with the API's verdict. Sets exit code 1 when no network is configured.
 * A configured network also sets it while it is not fresh or not followed, for example while its node is unavailable.
 */
export async function runStatus(options: OutputOptions): Promise<void> {
  await withDatabase(async ({ db }) => {
    const told = await getStatus(db)
    const judged = told.networks.map(({ holders, ...row }) => ({
      ...judgeNetwork(row),
      readBy: holders.reader,
      writtenBy: holders.writer,
      readerObservedSecondsAgo: secondsAgo(row.reader),
      writerObservedSecondsAgo: secondsAgo(row.writer),
    }))
    const networks = judged.map(({ isProblemInNote: _, ...network }) => network)
    const configured = networks.filter(({ state }) => state !== NOT_FOLLOWED)
    const healthy =
      configured.length > 0 && configured.every(({ state, synced }) => state === 'following' && synced)
    if (options.json === true) console.log(JSON.stringify({ ...told, networks }))
    else {
      console.log(`records ${told.records}, log position ${told.lastPosition}`)
      for (const network of judged) console.log(describe(network))
      if (networks.length === 0) console.log('no network was ever indexed here')
    }
    if (!healthy) process.exitCode = 1
  })
}

/** Null when no process ever had the role, or no indexer is configured to follow the network any more. */
function secondsAgo(report: RoleReport | null): number | null {
  return report === null ? null : Math.max(0, report.observedAgoS)
}

/** Hosts and process ids; null without such a process. */
interface Holders {
  readBy: string | null
  writtenBy: string | null
}

/** Several lines, so that each fits a terminal. */
function describe(network: JudgedNetwork & Holders): string {
  const { note, problem, isProblemInNote } = network
  const [head, indexed, finalized] = [
    network.head ?? '?',
    network.indexed ?? 'nothing',
    network.finalized ?? '?',
  ]
  return [
    `${network.network} (${network.blockchain ?? '?'}): ${network.state}`,
    note,
    ...(problem === null || isProblemInNote ? [] : [problem]),
    `head ${head}, indexed ${indexed}, finalized ${finalized}`,
    `queue ${network.queueWaiting ?? '?'} waiting, ${network.queueFailed ?? '?'} failed`,
    describeProof(network.proof),
    `read by ${network.readBy ?? 'none'}`,
    `written by ${network.writtenBy ?? 'none'}`,
  ].join('\n  ')
}

function describeProof(proof: ProofReport | null): string {
  if (proof === null) return 'no block was read'
  const { from, to, missing, blocks, stateAt, certificateAt } = proof
  const kinds = PROOF_KINDS.flatMap((kind) => (blocks[kind] === undefined ? [] : `${kind} ${blocks[kind]}`))
  const whole = missing === 0 ? 'complete' : `${missing} blocks missing`
  const more = [
    ...(stateAt === null ? [] : [`; state at ${stateAt}`]),
    ...(certificateAt === null ? [] : [`; final by certificate at ${certificateAt}`]),
  ]
  return `${whole} from ${from} to ${to}, proven by: ${kinds.join(', ')}${more.join('')}`
}
