import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import * as z from 'zod'
import { fileURLToPath } from 'node:url'
import {
  allGone,
  eventually,
  processesWith,
  runNpm,
  runScript,
  type RunningProgram,
} from '../helpers/programs.ts'
import { playDappPages } from '../helpers/dapp-pages.ts'
import { samplesOf, shapeOf } from '../helpers/documents.ts'

/** `npm start` as somebody runs it who has just cloned the project: everything is real, nothing is configured. */

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const START = 'devnet/start/main.ts'
const dataDir = mkdtempSync(join(tmpdir(), 'loan-activity-start-'))
const environment = { DATA_DIR: dataDir, API_PORT: '0', API_METRICS_PORT: '0', INDEXER_PORT: '0' }
t.teardown(() => {
  if (!t.passing()) tellLogs()
  for (const { pid } of processesWith(dataDir)) process.kill(pid, 'SIGKILL')
  rmSync(dataDir, { recursive: true, force: true })
})

/** What the parts said last, where a failure would else leave nothing but a time-out. */
function tellLogs(): void {
  for (const name of ['indexer', 'api', 'devnet', 'postgres']) {
    const file = join(dataDir, 'logs', `${name}.log`)
    if (existsSync(file)) t.comment(`${name}: ${readFileSync(file, 'utf8').slice(-3000)}`)
  }
}

const recordSchema = z.object({
  id: z.int(),
  txHash: z.string(),
  event: z.string(),
  blockchain: z.string(),
  createdAt: z.string(),
})
type ActivityRecord = z.infer<typeof recordSchema>
const historySchema = z.object({ payload: z.array(recordSchema), pages: z.int() })
const searchSchema = z.object({ payload: z.array(recordSchema), next: z.int().nullable() })
const statusSchema = z.object({
  payload: z.object({ records: z.int(), networks: z.array(z.object({ indexed: z.int().nullable() })) }),
})
const childrenSchema = z.record(z.string(), z.object({ pid: z.int() }))

async function get<T>(url: string, schema: z.ZodType<T>): Promise<T> {
  const response = await fetch(url, { signal: AbortSignal.timeout(5000) })
  return schema.parse(await response.json())
}

const pidOf = (name: string): number =>
  childrenSchema.parse(JSON.parse(readFileSync(join(dataDir, 'children.json'), 'utf8')))[name]?.pid ?? 0

/** Waits for the first record, returns where the API is. */
async function started(service: RunningProgram): Promise<{ service: RunningProgram; api: string }> {
  const [, api = ''] = await service.printed(/history\s+(http:\S+)\/api\/activity\/history\/1/)
  return { service, api }
}

const indexedBlock = async (api: string): Promise<number> =>
  (await get(`${api}/api/status`, statusSchema)).payload.networks[0]?.indexed ?? -1

async function goesOn(api: string): Promise<void> {
  const from = await indexedBlock(api)
  await eventually(`blocks after ${from} are indexed`, async () => (await indexedBlock(api)) > from + 1)
}

/** By id and not by page: while records come, those that were seen move on to other pages. */
async function allRecords(api: string): Promise<ActivityRecord[]> {
  const all: ActivityRecord[] = []
  for (let path: string | null = '/api/activity?limit=200'; path !== null;) {
    const { payload, next }: z.infer<typeof searchSchema> = await get(`${api}${path}`, searchSchema)
    all.push(...payload)
    path = next === null ? null : `/api/activity?limit=200&before=${next}`
  }
  return all.sort((a, b) => a.id - b.id)
}

/**
 * Records that are gone or say otherwise than before. One of a channel may go: when its loan turns out to have another
 * channel, it was never that loan's.
 */
function lostOrChanged(before: ActivityRecord[], after: ActivityRecord[]): ActivityRecord[] {
  const byId = new Map(after.map((record) => [record.id, record]))
  return before.filter((record) => {
    const now = byId.get(record.id)
    return now === undefined ? record.blockchain !== 'FIL' : JSON.stringify(now) !== JSON.stringify(record)
  })
}

void t.test('one command, from nothing to the first record and through every mishap', async (t) => {
  const { service, api } = await started(runNpm(ROOT, ['start'], environment))
  t.match(service.stdout(), /first record answered/)
  t.ok((await get(`${api}/api/activity/history/1`, historySchema)).payload.length > 0, 'a record is answered')
  for (const [, address = ''] of service
    .stdout()
    .matchAll(/^ {2}(?:page|a loan|status|history|docs) +(\S+)$/gm)) {
    t.equal((await fetch(address)).status, 200, address)
  }

  const ops = runScript('indexer/cli/main.ts', ['digest', '--json'], { DATA_DIR: dataDir })
  t.equal((await ops.ended).code, 0, `operators’ commands find the embedded parts: ${ops.stderr()}`)

  const second = runScript(START, [], environment)
  t.equal((await second.ended).code, 1, 'a second start on the same data is refused')
  t.equal(second.stderr().trim().split('\n').length, 1)
  t.match(second.stderr(), `DATA_DIR ${dataDir} is in use by another \`npm start\` (process `)

  for (const name of ['indexer', 'api', 'postgres']) {
    const killed = pidOf(name)
    process.kill(killed, 'SIGKILL')
    await service.printed(new RegExp(`${name} was ended by SIGKILL: starting it again`))
    await eventually(`${name} is another process`, () => pidOf(name) !== killed)
    await eventually('the API answers', () => indexedBlock(api).then(() => true, () => false)) // prettier-ignore
    await goesOn(api)
  }

  for (const { path, answer } of samplesOf('docs/api.md')) {
    const wanted = JSON.stringify(shapeOf(answer))
    // The Filecoin half of the loan may be a little later than the contract's.
    await eventually(
      `${path} looks as in docs/api.md`,
      async () => JSON.stringify(shapeOf(await get(`${api}${path}`, z.unknown()))) === wanted,
    )
  }

  await eventually('the pages of the dapp show loans of both markets', async () => {
    const { records, requests, offers, filLoans, erc20Loans, named } = await playDappPages(api)
    t.comment(JSON.stringify({ requests, offers, filLoans, erc20Loans, named }))
    return (
      records === 25 && filLoans > 0 && erc20Loans > 0 && requests + offers > 0 && named === requests + offers
    )
  })

  const before = await allRecords(api)
  t.ok(processesWith(dataDir).length > 5, 'they can be seen')
  service.signal('SIGINT')
  t.same(await service.ended, { code: 0, signal: null })
  t.match(service.stdout(), /everything has stopped\n$/)
  t.equal(service.stderr(), '', 'nothing on standard error')
  t.same(processesWith(dataDir), [], 'no process is left')
  for (const file of ['supervisor.lock', 'children.json', 'service.env']) {
    t.notOk(existsSync(join(dataDir, file)), `no ${file} is left`)
  }

  const again = await started(runScript(START, [], environment))
  const after = await allRecords(again.api)
  t.same(lostOrChanged(before, after), [], 'the same records have the same ids')
  await goesOn(again.api)

  again.service.signal('SIGKILL')
  // At once: the children of the killed one have not all noticed yet.
  const third = await started(runScript(START, [], environment))
  await goesOn(third.api)
  t.same(lostOrChanged(after, await allRecords(third.api)), [], 'and a killed supervisor costs none')
  third.service.signal('SIGKILL')
  await third.service.ended
  await allGone(dataDir)
})
