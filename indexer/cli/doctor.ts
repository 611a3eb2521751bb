import { loadEnvironment, loadNetworks, type Environment } from '../../shared/config/config.ts'
import type { Networks } from '../../shared/config/networks.ts'
import { messageOf } from '../../shared/errors.ts'
import type { OutputOptions } from './context.ts'
import { examineDatabase } from './doctor-database.ts'
import { examineEndpoints } from './doctor-endpoints.ts'
import { examineQueue } from './doctor-queue.ts'
import { findingText, type Finding } from './finding.ts'

/**
 * Looks at everything that the programs depend on, and prints a verdict for each. Sets exit code 1 when anything failed;
 * warnings do not.
 */
export async function runDoctor(options: OutputOptions): Promise<void> {
  const findings: Finding[] = []
  const add = (more: Finding[]): void => {
    findings.push(...more)
    if (options.json !== true) for (const finding of more) console.log(findingText(finding))
  }
  const environment = readConfiguration('environment', loadEnvironment, add)
  if (environment !== undefined) await examineParts(environment, add)
  const count = (verdict: Finding['verdict']): number =>
    findings.filter((one) => one.verdict === verdict).length
  const sum = { ok: count('ok'), warnings: count('warning'), failed: count('failed') }
  if (options.json === true) console.log(JSON.stringify({ ...sum, findings }))
  else console.log(`${sum.ok} ok, ${sum.warnings} warnings, ${sum.failed} failed`)
  if (sum.failed > 0) process.exitCode = 1
}

async function examineParts(environment: Environment, add: (findings: Finding[]) => void): Promise<void> {
  const { DATABASE_URL, READ_DATABASE_URL, REDIS_URL, NETWORKS_FILE } = environment
  const networks: Networks | undefined =
    NETWORKS_FILE === undefined
      ? undefined
      : readConfiguration('NETWORKS_FILE', () => loadNetworks(NETWORKS_FILE), add)
  if (NETWORKS_FILE === undefined)
    add([{ part: 'NETWORKS_FILE', verdict: 'warning', message: 'it is not set: no endpoint is looked at' }])
  if (DATABASE_URL === undefined) add([{ part: 'DATABASE_URL', verdict: 'failed', message: 'it is not set' }])
  else {
    add(await examineDatabase(DATABASE_URL, 'DATABASE_URL', { writes: true }))
    add(await examineQueue(REDIS_URL, DATABASE_URL))
  }
  if (READ_DATABASE_URL !== undefined)
    add(await examineDatabase(READ_DATABASE_URL, 'READ_DATABASE_URL', { writes: false }))
  if (networks !== undefined) add(await examineEndpoints(networks))
}

function readConfiguration<T>(
  part: string,
  read: () => T,
  add: (findings: Finding[]) => void,
): T | undefined {
  try {
    const found = read()
    add([{ part, verdict: 'ok', message: 'it has no mistakes' }])
    return found
  } catch (error) {
    add([{ part, verdict: 'failed', message: messageOf(error) }])
    return undefined
  }
}
