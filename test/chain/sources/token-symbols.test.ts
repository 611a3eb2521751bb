import { AbiCoder, getAddress } from 'ethers'
import { sql } from 'kysely'
import t from 'tap'
import { runTokens } from '../../../indexer/run-tokens.ts'
import { createEvmSource } from '../../../indexer/sources/evm/evm-source.ts'
import { createLogger } from '../../../shared/log.ts'
import { testDatabase } from '../../helpers/database.ts'
import { startLittleChain } from './little-chain.ts'

const symbol = (text: string): string => AbiCoder.defaultAbiCoder().encode(['string'], [text])

/** Code that answers every call with these bytes. */
function answering(answer: string): string {
  const length = ((answer.length - 2) / 2).toString(16).padStart(4, '0')
  // codecopy(0, 15, length); return(0, length)
  return `0x61${length}600f60003961${length}6000f300${answer.slice(2)}`
}

/** A token's behaviour, and the symbol that it has then. */
const TOKENS: Record<string, { code: string; symbol: string | null }> = {
  text: { code: answering(symbol('DAI')), symbol: 'DAI' },
  bytes32: { code: answering(`0x${Buffer.from('MKR').toString('hex').padEnd(64, '0')}`), symbol: 'MKR' },
  reverts: { code: '0x60006000fd', symbol: null },
  'has no code': { code: '0x', symbol: null },
  'answers nothing': { code: '0x00', symbol: null },
  'runs for ever': { code: '0x5b600056', symbol: null },
  'answers a lot': { code: answering(`0x${'11'.repeat(20_000)}`), symbol: null },
  'turns text around': { code: answering(symbol('\u202EIAD')), symbol: null },
}

void t.test('the symbols of tokens are read once; one that has none is asked again later', async (t) => {
  const chain = await startLittleChain(t)
  const { db } = await testDatabase(t)
  const addresses = Object.keys(TOKENS).map((_, index) =>
    getAddress(`0x${`${index + 1}`.padStart(40, 'ab')}`),
  )
  const codes = Object.values(TOKENS)
  for (const [index, token] of addresses.entries()) {
    await chain.rpc('anvil_setCode', token, codes[index]?.code)
    await sql`insert into ledger.tokens (network_id, token, decimals) values ('31337', ${token}, 18)`.execute(
      db,
    )
  }
  const source = createEvmSource(chain.network())
  t.teardown(() => source.close())
  const asked: string[] = []
  const stopping = new AbortController()
  const run = { network: 'evm:31337', networkId: '31337', db, log: createLogger('test', 'silent') }
  const running = runTokens({ ...run, signal: stopping.signal }, (token) => {
    asked.push(token)
    return source.tokenSymbol(token)
  })
  const rows = async () =>
    (
      await sql<{ token: string; symbol: string | null; reads: number; later: boolean }>`
        select token, symbol, reads, next_read_at > clock_timestamp() as later from ledger.tokens order by seen`.execute(
        db,
      )
    ).rows
  const until = async (holds: (found: Awaited<ReturnType<typeof rows>>) => boolean): Promise<void> => {
    while (!holds(await rows())) await new Promise((resolve) => setTimeout(resolve, 20))
  }
  await until((found) => found.every(({ reads }) => reads === 1))
  t.strictSame(
    (await rows()).map(({ token, symbol }) => [token, symbol]),
    addresses.map((token, index) => [token, codes[index]?.symbol]),
  )
  t.ok((await rows()).every(({ later }) => later))
  // It is deployed after a loan named it.
  const late = addresses[3] ?? ''
  await chain.rpc('anvil_setCode', late, answering(symbol('LATE')))
  await sql`update ledger.tokens set next_read_at = clock_timestamp() where network_id = '31337'`.execute(db)
  await until((found) => found[3]?.symbol === 'LATE')
  await until((found) => found.filter(({ symbol }) => symbol === null).every(({ reads }) => reads === 2))
  stopping.abort()
  await running
  t.equal(asked.filter((token) => token === addresses[0]).length, 1, 'a symbol is read once')
})

void t.test('while no node answers, a token is asked again soon', async (t) => {
  const chain = await startLittleChain(t)
  const { db } = await testDatabase(t)
  const [token = ''] = chain.tokens
  await sql`insert into ledger.tokens (network_id, token) values ('31337', ${token})`.execute(db)
  const nowhere = createEvmSource(chain.network({ rpcUrls: ['http://127.0.0.1:1'] }))
  const stopping = new AbortController()
  const run = { network: 'evm:31337', networkId: '31337', db, log: createLogger('test', 'silent') }
  const running = runTokens({ ...run, signal: stopping.signal }, (one) => nowhere.tokenSymbol(one))
  for (let isAsked = false; !isAsked;) {
    const { rows } = await sql<{ soon: boolean; reads: number; asked: boolean }>`
      select reads, next_read_at > 'epoch' as asked, next_read_at <= clock_timestamp() + interval '1 minute' as soon
      from ledger.tokens`.execute(db)
    isAsked = rows[0]?.asked ?? false
    if (isAsked) t.match(rows, [{ reads: 1, soon: true }])
    else await new Promise((resolve) => setTimeout(resolve, 20))
  }
  stopping.abort()
  await running
  await nowhere.close()
})
