import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './free-port.ts'
import { processesWith, runScript } from './programs.ts'

/** Lets the API, its metrics and the indexer's health choose ports of their own. */
export const ANY_PORTS = { API_PORT: '0', API_METRICS_PORT: '0', INDEXER_PORT: '0' }

/** Gives the parts that `npm start` brings ports that no other test has. Two that begin at once would both find 8545 free. */
export async function ownPorts(dataDir: string): Promise<void> {
  mkdirSync(dataDir, { recursive: true })
  const names = ['postgresPort', 'devnetPort', 'filecoinPort', 'intakePort', 'metricsPort']
  const ports: Record<string, number> = {}
  for (const name of names) ports[name] = await freePort()
  writeFileSync(join(dataDir, 'start.json'), JSON.stringify({ postgresPassword: 'test', ...ports }))
}

/** Runs `npm start` with its devnet for the tests of a file, and returns the API's address. */
export async function startedService(t: Pick<Test, 'teardown'>): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'loan-activity-started-'))
  await ownPorts(dataDir)
  const service = runScript('devnet/start/main.ts', [], { DATA_DIR: dataDir, ...ANY_PORTS })
  t.teardown(async () => {
    service.signal('SIGINT')
    await service.ended
    for (const { pid } of processesWith(dataDir)) process.kill(pid, 'SIGKILL')
    rmSync(dataDir, { recursive: true, force: true })
  })
  const [, api = ''] = await service.printed(/page\s+(http:\S+)\/\n/)
  return api
}
