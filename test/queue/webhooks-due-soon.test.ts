import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { findHolder } from '../../shared/db/leases.ts'
import { startApi, type ApiProcess } from '../helpers/api-process.ts'
import { testDatabase } from '../helpers/database.ts'
import { ingestLedger, ingestStories, EVM } from '../helpers/ingest-ledger.ts'
import { HOUR_S, storyUntilNow } from '../helpers/loans-due-soon.ts'
import { eventually } from '../helpers/programs.ts'
import { queueKinds } from '../helpers/queue-kinds.ts'
import { testRedis } from '../helpers/redis.ts'
import { SECRET, webhookReceiver } from '../helpers/webhook-receiver.ts'

t.setTimeout(600_000)

for (const kind of queueKinds) {
  void t.test(`on ${kind}: one of two programs sends what ends soon, and the other after it`, async (t) => {
    const { db, url } = await testDatabase(t)
    const redisUrl = kind === 'redis' ? await testRedis(t) : undefined
    if (redisUrl === null) return
    const receiver = await webhookReceiver(t)
    const file = join(t.testdir({}), 'webhooks.json')
    const webhook = { name: 'soon', url: receiver.url, secret: SECRET, events: [], dueSoonHours: 13 }
    await writeFile(file, JSON.stringify({ webhooks: [webhook] }))
    const env = {
      ...{ DATABASE_URL: url, WEBHOOKS_FILE: file },
      ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    }
    const start = async (more = {}): Promise<ApiProcess> => {
      const program = startApi(t, { ...env, ...more }, { program: 'indexer/webhooks/main' })
      await program.said('"started"')
      return program
    }
    const chains = storyUntilNow('erc20', { evm: 3, filecoin: 5, vouchers: 2 }, 2 * HOUR_S)
    await ingestLedger(db, EVM, chains.evm)
    const sent = (): string[] => receiver.received.map(({ body }) => String(body.data['action'])).sort()

    const first = await start()
    await eventually('the first message came', () => sent().length === 1)
    t.same(sent(), ['payback'])
    t.match(receiver.received[0], { id: /^due-/, body: { type: 'action.due', data: { loanId: '1' } } })
    t.match(await findHolder(db, 'webhooks due soon: soon'), `process ${first.child.pid}`)
    const otherReceiver = await webhookReceiver(t)
    const otherFile = file.replace(/json$/, 'other.json')
    const otherWebhook = { ...webhook, name: 'other', url: otherReceiver.url }
    await writeFile(otherFile, JSON.stringify({ webhooks: [otherWebhook] }))
    const other = await start({ WEBHOOKS_FILE: otherFile })
    await eventually('a program with another file sends as well', () => otherReceiver.received.length === 1)
    other.child.kill('SIGTERM')
    t.equal((await other.ended).code, 0)
    const second = await start()
    const settling = chains.filecoin.filter(({ kind }) => ['CreateChannel', 'SettleChannel'].includes(kind))
    // The first sweeps again in a minute only: these are left to the second.
    await ingestStories(db, { ...chains, evm: [], filecoin: settling })
    first.child.kill('SIGKILL')
    await first.ended
    await eventually('the rest came', () => sent().length >= 2, 60_000)
    t.same(sent(), ['payback', 'redeemSeizeVoucher'], 'what was sent is not sent again')
    t.match(await findHolder(db, 'webhooks due soon: soon'), `process ${second.child.pid}`)
    second.child.kill('SIGTERM')
    t.equal((await second.ended).code, 0)
  })
}
