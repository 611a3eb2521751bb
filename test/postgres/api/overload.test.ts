import { sql } from 'kysely'
import t from 'tap'
import { errorAnswer } from '../../../api/schemas/common.ts'
import { testApi } from '../../helpers/api.ts'
import { seedNetwork } from '../../helpers/seed-projection.ts'

/** Runs 32 at once: so many of these 200 wait for a place in vain while the database does not answer. */
const ASKED = 200
const RUN_AT_ONCE = 32

void t.test(
  'more than can run at once waits for a moment, then is refused; health checks are not',
  async (t) => {
    const { app, db } = await testApi(t)
    await seedNetwork(db)
    await app.inject('/api/activity')
    await db.transaction().execute(async (trx) => {
      await sql`lock table projection.activity in access exclusive mode`.execute(trx)
      const asked = Array.from(
        { length: ASKED },
        async (_, number) => await app.inject(`/api/activity?limit=${1 + number}`),
      )
      t.equal((await app.inject('/healthz')).statusCode, 200)
      const refused = (await Promise.all(asked)).filter((answer) =>
        errorAnswer.parse(answer.json()).message.includes('more to do than it can'),
      )
      t.equal(refused.length, ASKED - RUN_AT_ONCE, 'while the others wait for the database')
      for (const { statusCode, headers } of refused) {
        t.equal(statusCode, 503)
        t.equal(headers['retry-after'], '1')
        t.equal(headers['access-control-allow-origin'], '*')
      }
    })
    t.equal((await app.inject('/readyz')).statusCode, 200)
    t.equal((await app.inject('/api/activity')).statusCode, 200, 'and nothing is left over')
  },
)
