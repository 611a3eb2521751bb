import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { loadEnvironment, loadNetworks } from '../../shared/config/config.ts'
import { filecoinNetworkKey } from '../../shared/config/networks.ts'
import type { Db } from '../../shared/db/connect.ts'
import { ConfigError, messageOf } from '../../shared/errors.ts'
import { parseHandedIn } from '../../shared/events/handed-in.ts'
import { ingestHandedIn, type HandInOutcome } from '../ingest/ingest-voucher.ts'
import { networkOf, whichNetwork } from '../handed-in-network.ts'
import { boundedLines, type BoundedLine } from './bounded-lines.ts'
import { createProgress, print, withDatabase, type OutputOptions } from './context.ts'
import { countOf } from './count-of.ts'

const MAX_LINE_BYTES = 64 * 1024
/** Limits the JSON output only; text output prints every refusal when it happens. */
const MAX_REFUSALS_TOLD = 1_000

interface ImportTotals {
  lines: number
  accepted: number
  known: number
  waiting: number
  refused: number
}

/**
 * Imports vouchers from a file, or from standard input for `-`, and writes each at once. A line is a voucher in base64,
 * or a signed statement or a voucher job in JSON. Empty lines and lines that begin with # are skipped. Sets exit code 1
 * when any line is refused, or when interrupted. Importing a file again is harmless.
 */
export async function runImportVouchers(
  file: string,
  options: OutputOptions & { network?: string },
): Promise<void> {
  const networks = loadNetworks(loadEnvironment().NETWORKS_FILE).filecoin.map(filecoinNetworkKey)
  const chosen = chooseNetwork(networks, options.network)
  const input = await openInput(file)
  await withDatabase(
    async ({ db, signal }) => {
      const totals: ImportTotals = { lines: 0, accepted: 0, known: 0, waiting: 0, refused: 0 }
      const refusals: { line: number; reason: string }[] = []
      const progress = createProgress()
      progress.show(`reading ${file === '-' ? 'standard input' : file}`)
      for await (const line of boundedLines(input, MAX_LINE_BYTES)) {
        if (signal.aborted) break
        totals.lines = line.number
        const result = await importLine(db, networks, chosen, line)
        if (result === undefined) continue
        totals[result.outcome] += 1
        if (result.outcome === 'refused') {
          const refusal = { line: line.number, reason: result.reason ?? '' }
          if (options.json !== true) console.log(`line ${refusal.line}: ${refusal.reason}`)
          else if (refusals.length < MAX_REFUSALS_TOLD) refusals.push(refusal)
        }
        progress.show(`${file}: ${describe(totals)}`, { done: totals.lines, total: null })
      }
      progress.end()
      const finished = !signal.aborted
      const text = `${describe(totals)}${finished ? '' : ' (interrupted)'}`
      print(options, { ...totals, finished, refusals }, text)
      if (totals.refused > 0 || !finished) process.exitCode = 1
    },
    { writes: true },
  )
}

/** `--network` takes `testnet` and `filecoin:testnet`. */
function chooseNetwork(networks: string[], named: string | undefined): string | null {
  if (networks.length === 0) throw new ConfigError('NETWORKS_FILE names no Filecoin network')
  if (named === undefined) return null
  const networkId = named.replace(/^filecoin:/, '')
  if (networkOf(networks, networkId) === undefined) throw new ConfigError(whichNetwork(networks, networkId))
  return networkId
}

async function openInput(file: string): Promise<AsyncIterable<Uint8Array>> {
  if (file === '-') return process.stdin as AsyncIterable<Uint8Array>
  try {
    if ((await stat(file)).isDirectory()) throw new Error('it is a folder')
  } catch (error) {
    throw new ConfigError(`${file} cannot be read: ${messageOf(error)}`)
  }
  return createReadStream(file) as AsyncIterable<Uint8Array>
}

/** Returns undefined for an empty line or a line that begins with #. */
async function importLine(
  db: Db,
  networks: string[],
  chosen: string | null,
  { text, reason }: BoundedLine,
): Promise<HandInOutcome | undefined> {
  if (text === null) return refused(reason ?? '')
  const trimmed = text.trim()
  if (trimmed === '' || trimmed.startsWith('#')) return undefined
  const job = parseLine(trimmed)
  if (job === undefined) return refused('it begins as JSON and is none')
  const parsed = parseHandedIn(job)
  if (!parsed.ok) return refused(parsed.reason)
  const networkId = parsed.networkId ?? chosen
  const network = networkOf(networks, networkId)
  if (network === undefined) return refused(whichNetwork(networks, networkId))
  return ingestHandedIn(db, { network, item: parsed.item }, 'import')
}

function refused(reason: string): HandInOutcome {
  return { outcome: 'refused', reason }
}

/** Returns a line as the data of a job, or undefined when it is neither base64 nor JSON. */
function parseLine(line: string): unknown {
  if (!/^[{["]/.test(line)) return { voucher: line }
  try {
    const json = JSON.parse(line) as unknown
    if (typeof json === 'string') return { voucher: json }
    const isStatement = typeof json === 'object' && json !== null && 'message' in json && 'signature' in json
    return isStatement ? { statement: json } : json
  } catch {
    return undefined
  }
}

function describe({ lines, accepted, known, waiting, refused }: ImportTotals): string {
  return `${countOf(lines, 'line')}: ${accepted} accepted, ${known} known, ${waiting} waiting, ${refused} refused`
}
