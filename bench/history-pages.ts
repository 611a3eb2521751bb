import { sql } from 'kysely'
import { HISTORY_PAGES } from '../api/queries/activity-pages.ts'
import { buildApp } from '../api/app.ts'
import { openReadDatabase } from '../api/queries/read-database.ts'
import { connect } from '../shared/db/connect.ts'
import { createLogger } from '../shared/log.ts'
import { seedRecords } from '../test/helpers/seed-projection.ts'
import { startServices } from '../test/helpers/services.ts'
import { machineFacts, percentile } from './measure.ts'

const CONCURRENCY = 8

/** Page 1, the middle and the last of `records` records: latencies over HTTP, and the query plans. */
export async function benchHistory(records: number, requests: number): Promise<void> {
  const services = await startServices(['postgres'])
  const url = `${services.postgresUrl}/${services.template}`
  const db = connect(url, { name: 'bench', max: 2 })
  const database = openReadDatabase(url, { onError: () => undefined })
  const app = await buildApp({ database, log: createLogger('bench', 'silent'), version: 'bench' })
  try {
    console.log(machineFacts())
    await seedRecords(db, records)
    await sql`vacuum analyze projection.activity, projection.record_kinds, projection.activity_counts`.execute(
      db,
    )
    const address = await app.listen({ host: '127.0.0.1', port: 0 })
    const last = Math.ceil(records / 25)
    const pages = { first: 1, middle: Math.ceil(last / 2), last }
    for (const page of Object.values(pages)) await load(`${address}/api/activity/history/${page}`, 200)
    console.log(
      `\n| page of ${records} records | requests | concurrency | p50 ms | p99 ms | requests/s |\n|---|---|---|---|---|---|`,
    )
    for (const [name, page] of Object.entries(pages)) {
      const startedMs = performance.now()
      const latencies = await load(`${address}/api/activity/history/${page}`, requests)
      const rate = Math.round((requests / (performance.now() - startedMs)) * 1000)
      console.log(
        `| ${name} (${page}) | ${requests} | ${CONCURRENCY} | ${percentile(latencies, 50).toFixed(2)} | ${percentile(latencies, 99).toFixed(2)} | ${rate} |`,
      )
    }
    for (const [name, page] of Object.entries(pages)) {
      const { rows } = await sql<{ 'QUERY PLAN': string }>`
        explain (analyze, buffers, costs off, timing off) ${sql.raw(HISTORY_PAGES.text.replaceAll('$1', `'{${page}}'`))}`.execute(
        db,
      )
      console.log(`\nplan of the ${name} page:\n${rows.map((row) => row['QUERY PLAN']).join('\n')}`)
    }
  } finally {
    await app.close()
    await database.close()
    await db.destroy()
    await services.stop()
  }
}

/** Milliseconds of each request; every answer must be a whole page. */
async function load(url: string, requests: number): Promise<number[]> {
  const latencies: number[] = []
  let left = requests
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1
      const startedMs = performance.now()
      const response = await fetch(url)
      const answer = (await response.json()) as { payload: unknown[] }
      latencies.push(performance.now() - startedMs)
      if (response.status !== 200 || answer.payload.length === 0)
        throw new Error(`${url} answered ${response.status}`)
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
  return latencies
}
