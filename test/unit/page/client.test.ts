import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import fc from 'fast-check'
import t from 'tap'
import { createClient, getErc20Loan, searchActivity } from '../../../client/index.ts'
import { queryText, readingClient } from '../../../api/page/lib/client.ts'

/** The page's own client has to ask as the generated one does. */

void t.test('a query reads as the generated client writes it', (t) => {
  const generated = createClient({ baseUrl: 'http://api' })
  const text = fc.string({ minLength: 1, unit: 'grapheme' })
  const queries = fc.dictionary(
    fc.constantFrom('event', 'before', 'account'),
    fc.oneof(text, fc.array(text, { minLength: 1, maxLength: 3 })),
  )
  fc.assert(
    fc.property(queries, (query) => {
      const expected = new URL(generated.buildUrl({ url: '/api/activity', query }))
      return String([...new URLSearchParams(queryText(query))]) === String([...expected.searchParams])
    }),
  )
  t.end()
})

void t.test('an answer, an error and no connection come as from the generated client', async (t) => {
  const server = createServer((request, response) => {
    response.writeHead(request.url?.includes('404') === true ? 404 : 200, { etag: 'W/"1"' })
    response.end(JSON.stringify({ url: request.url }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const clients = [createClient({ baseUrl: base, parseAs: 'json' }), readingClient(base)]
  const ask = (loanId: string): Promise<unknown[]> =>
    Promise.all(
      clients.map(async (client) => {
        const { data, error, response } = await getErc20Loan({
          client,
          path: { loanId },
          query: { asOf: '7' },
        })
        return { data, error, status: (response as Response | undefined)?.status }
      }),
    )
  const [one, other] = await ask('a/b 7')
  t.same(other, one)
  t.match(other, { data: { url: '/api/loan/ERC20/a%2Fb%207?asOf=7' }, status: 200 })
  const [missing, alsoMissing] = await ask('404')
  t.same(alsoMissing, missing)
  t.match(alsoMissing, { error: { url: /404/ }, status: 404 })
  await new Promise((closed) => {
    server.close(closed)
    server.closeAllConnections()
  })
  const [, own] = clients
  const { data, error, response } = await searchActivity(own === undefined ? {} : { client: own })
  t.equal(data, undefined)
  t.ok(error)
  t.equal(response, undefined)
})
