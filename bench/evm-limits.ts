import { sql } from 'kysely'
import { decodeLogs, type EvmLog } from '../indexer/sources/evm/decode-answer.ts'
import { decodeLog, type DecodedLog } from '../indexer/sources/evm/decode-log.ts'
import type { Db } from '../shared/db/connect.ts'
import type { ContractRole } from '../shared/events/chain-event.ts'
import type { SyntheticChain } from './synthetic-evm/synthetic-chain.ts'

/** Upper bounds for any index of these events: the same ranges, with less and less work left out. */
export const LIMITS = {
  fetch: 'fetch logs and JSON.parse only',
  decode: 'the same, and decode them',
  write: 'the same, and write them into a table with a key',
} as const
export type Limit = keyof typeof LIMITS

const PARALLEL = 4
const BLOCKS_PER_REQUEST = 200

/** Measures the seconds that one limit takes for the whole chain. */
export async function measureLimit(
  limit: Limit,
  url: string,
  chain: SyntheticChain,
  db: Db,
): Promise<number> {
  const roles = new Map(
    Object.entries(chain.parties.contracts).map(([role, address]): [string, ContractRole] => [
      address.toLowerCase(),
      role as ContractRole,
    ]),
  )
  if (limit === 'write') {
    await sql`drop table if exists public.limit_events`.execute(db)
    await sql`create table public.limit_events (block_number bigint, log_index integer, tx_hash text, kind text, loan_id text,
      args jsonb, primary key (block_number, log_index))`.execute(db)
  }
  const started = performance.now()
  let next = 1
  let events = 0
  const worker = async (): Promise<void> => {
    while (next <= chain.shape.blocks) {
      const from = next
      next += BLOCKS_PER_REQUEST
      const answer = await getLogs(url, [...roles.keys()], from, from + BLOCKS_PER_REQUEST - 1)
      if (limit === 'fetch') {
        events += answer.length
        continue
      }
      const logs = decodeLogs(answer)
      const decoded = logs.map((log) => decodeLog(roles.get(log.address) ?? 'erc20Loans', log))
      events += decoded.filter(({ kind }) => kind !== 'Undecodable').length
      if (limit === 'write' && logs.length > 0) await write(db, logs, decoded)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL }, worker))
  if (events !== chain.shape.events) throw new Error(`${limit}: ${events} events: no figure`)
  return (performance.now() - started) / 1000
}

async function getLogs(url: string, address: string[], from: number, to: number): Promise<unknown[]> {
  const filter = { address, fromBlock: `0x${from.toString(16)}`, toBlock: `0x${to.toString(16)}` }
  const response = await fetch(url, {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_getLogs', params: [filter] }),
  })
  return (JSON.parse(await response.text()) as { result: unknown[] }).result
}

async function write(db: Db, logs: readonly EvmLog[], decoded: readonly DecodedLog[]): Promise<void> {
  await sql`insert into public.limit_events
    select * from unnest(${logs.map((log) => log.blockNumber)}::bigint[], ${logs.map((log) => log.logIndex)}::integer[],
      ${logs.map((log) => log.txHash)}::text[], ${decoded.map(({ kind }) => kind)}::text[],
      ${decoded.map((event) => ('contractLoanId' in event ? event.contractLoanId : null))}::text[],
      ${decoded.map((event) => ('args' in event ? JSON.stringify(event.args) : null))}::jsonb[])`.execute(db)
}
