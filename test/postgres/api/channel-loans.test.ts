import t from 'tap'
import { channelLoans } from '../../../api/schemas/channel-loans.ts'
import { testApi } from '../../helpers/api.ts'
import { ingestStories } from '../../helpers/ingest-ledger.ts'
import { tellStories } from '../../helpers/two-chain-stories.ts'

void t.test('a payment channel leads to its loan, by each of its addresses', async (t) => {
  const { app, db } = await testApi(t)
  await ingestStories(db, tellStories(3, 6))
  const rows = await db
    .selectFrom('projection.channels')
    .select(['addresses', 'loan_type', 'loan_id', 'role'])
    .execute()
  t.ok(rows.length > 5)
  for (const { addresses, loan_type, loan_id, role } of rows) {
    for (const address of addresses) {
      for (const written of [address, address.replace(/^f/, 't')]) {
        const answer = await app.inject(`/api/loans/channel/${written}`)
        t.equal(answer.statusCode, 200)
        const { payload } = channelLoans.parse(answer.json())
        const wanted =
          loan_id === null
            ? []
            : [{ loanType: loan_type, loanId: loan_id, role, network: 'filecoin:testnet' }]
        t.same(payload, wanted, written)
      }
    }
  }
})

void t.test('an unknown channel has no loan, and other text is 400', async (t) => {
  const { app } = await testApi(t)
  const unknown = await app.inject('/api/loans/channel/f0999')
  t.same([unknown.statusCode, unknown.json()], [200, { status: 'OK', payload: [] }])
  const again = {
    url: '/api/loans/channel/f0999',
    headers: { 'if-none-match': String(unknown.headers.etag) },
  }
  t.equal((await app.inject(again)).statusCode, 304)
  for (const text of ['0x12', 'f1', 't2awhecrbr574isyarwew2uwwjjxzmc32e5o7damx']) {
    const wrong = await app.inject(`/api/loans/channel/${text}`)
    t.equal(wrong.statusCode, 400, text)
    t.match(wrong.json(), { message: /^channel must be a Filecoin address/ })
  }
})
