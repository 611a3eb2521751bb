import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import t, { type Test } from 'tap'
import { deliver } from '../../indexer/webhooks/deliver.ts'
import { startApi } from '../helpers/api-process.ts'
import { testDatabase } from '../helpers/database.ts'
import { ingestStories } from '../helpers/ingest-ledger.ts'
import { eventually } from '../helpers/programs.ts'
import { tellStories } from '../helpers/two-chain-stories.ts'
import { SECRET } from '../helpers/webhook-receiver.ts'

/** The trial that docs/webhooks.md describes. */
const docs = (name: string): string => fileURLToPath(new URL(`../../docs/${name}`, import.meta.url))

/** Runs the receiver of docs/ on a free port; `said` returns the lines that it printed after the first. */
async function receiver(t: Test): Promise<{ url: string; said: () => string[] }> {
  const env = { ...process.env, SECRET, PORT: '0' }
  const child = spawn(process.execPath, [docs('webhook-receiver.mjs')], { env })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  while (!output.includes('\n')) await once(child.stdout, 'data')
  return { url: `http://127.0.0.1:${parseInt(output, 10)}/`, said: () => output.split('\n').slice(1, -1) }
}

void t.test('the receiver takes what is signed, prints it once, and refuses all else', async (t) => {
  const { url, said } = await receiver(t)
  const { signal } = new AbortController()
  const message = { id: 'due-1', body: '{"type":"action.due"}' }
  await deliver({ url, secret: SECRET }, message, signal)
  await deliver({ url, secret: SECRET }, message, signal)
  await deliver({ url, secret: SECRET }, { ...message, id: '2' }, signal)
  await eventually('it printed them', () => said().length >= 2)
  t.same(said(), ['due-1 {"type":"action.due"}', '2 {"type":"action.due"}'])
  const other = `whsec_${Buffer.from('another secret of 24 bytes').toString('base64')}`
  await t.rejects(deliver({ url, secret: other }, message, signal), { message: /answered 401/ })
  t.equal((await fetch(url, { method: 'POST', body: '{}' })).status, 401, 'nor anything unsigned')
})

void t.test('the file of the trial sends the receiver the whole history', async (t) => {
  const { db, url: databaseUrl } = await testDatabase(t)
  await ingestStories(db, tellStories(1, 2))
  const records = await db.selectFrom('projection.activity').select('id').execute()
  const { url, said } = await receiver(t)
  const trial = await readFile(docs('webhooks-trial.json'), 'utf8')
  t.match(trial, 'http://127.0.0.1:4000/', 'the receiver’s own port')
  t.match(await readFile(docs('webhook-receiver.mjs'), 'utf8'), '?? 4000')
  const file = join(t.testdir({}), 'webhooks.json')
  await writeFile(file, trial.replace('http://127.0.0.1:4000/', url))
  const env = { DATABASE_URL: databaseUrl, WEBHOOKS_FILE: file, SECRET }
  const { child, ended } = startApi(t, env, { program: 'indexer/webhooks/main' })
  await eventually('all came', () => said().length >= records.length)
  for (const line of said()) t.match(line, /^[0-9-]+ \{"type":"record\.made",/)
  child.kill('SIGTERM')
  t.equal((await ended).code, 0)
})
