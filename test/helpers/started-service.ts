import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { processesWith, runScript } from './programs.ts'

/**
 * Gives all parts of an `npm start` ports that no other test has: two that begin at once would both find 8545 free.
 * Returns the variables of the parts that are configured.
 */
export async function ownPorts(dataDir: string): Promise<Record<string, string>> {
  mkdirSync(dataDir, { recursive: true })
  const names = ['postgresPort', 'devnetPort', 'filecoinPort', 'intakePort', 'metricsPort']
  const ports: Record<string, number> = {}
  for (const name of names) ports[name] = await freePort()
  writeFileSync(join(dataDir, 'start.json'), JSON.stringify({ postgresPassword: 'test', ...ports }))
  const configured = ['API_PORT', 'API_METRICS_PORT', 'INDEXER_PORT']
  const variables: Record<string, string> = { DATA_DIR: dataDir }
  for (const name of configured) variables[name] = String(await freePort())
  return variables
}

/** Runs `npm start` with its devnet for the tests of a file, and returns the API's address. */
export async function startedService(t: Pick<Test, 'teardown'>): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'loan-activity-started-'))
  const service = runScript('devnet/start/main.ts', [], await ownPorts(dataDir))
  t.teardown(async () => {
    service.signal('SIGINT')
    await service.ended
    for (const { pid } of processesWith(dataDir)) process.kill(pid, 'SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  const [, api = ''] = await service.printed(/page\s+(http:\S+)\/\n/)
  return api
}
