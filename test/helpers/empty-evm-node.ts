import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { sql } from 'kysely'
import type { Test } from 'tap'
import type { Db } from '../../shared/db/connect.ts'
import { bytes } from './node-saying.ts'

const CONTRACT = `0x${'11'.repeat(20)}`

interface Call {
  id: number
  method: string
  params: unknown[]
}

/**
 * Starts a node of chain 31337 with code at every address and no logs; closed in teardown. Requests for logs, or for
 * several headers, from `block.silentFrom` on are never answered, once it is set. `networks` is for the networks file.
 */
export async function emptyEvmNode(
  t: Test,
): Promise<{ networks: object; block: { silentFrom: number; silent: number } }> {
  const block = { silentFrom: Infinity, silent: 0 }
  const resultOf = ({ method, params }: Call): unknown => {
    switch (method) {
      case 'eth_chainId':
        return '0x7a69'
      case 'eth_getCode':
        return '0x60'
      case 'eth_getLogs':
        return []
      default:
        return header(params[0])
    }
  }
  const server = createServer((request, response) => {
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const asked = JSON.parse(body) as Call | Call[]
      const calls = [asked].flat()
      if (reads(calls, block.silentFrom)) {
        block.silent += 1
        return
      }
      const answers = calls.map((call) => ({ jsonrpc: '2.0', id: call.id, result: resultOf(call) }))
      response.setHeader('content-type', 'application/json')
      response.end(JSON.stringify(Array.isArray(asked) ? answers : answers[0]))
    })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const rpcUrls = [`http://127.0.0.1:${(server.address() as AddressInfo).port}`]
  const network = {
    blockchain: 'DEVNET',
    networkId: '31337',
    rpcUrls,
    maxBlockRange: 100,
    erc20Loans: { address: CONTRACT },
  }
  return { networks: { evm: [network] }, block }
}

/** Sets an index's position to this block of such a node and marks it final. */
export async function endWithItsBlock(db: Db, number: number): Promise<void> {
  await sql`delete from ledger.block_headers`.execute(db)
  const hash = hashOf(number)
  await sql`
    update ledger.chain_position set number = ${number}, hash = ${hash}, finalized_number = ${number}, finalized_hash = ${hash}`.execute(
    db,
  )
}

function hashOf(number: number): string {
  return bytes(32, number + 1)
}

/** Tells whether a request reads blocks from `number` on: their logs, or many of their headers. */
function reads(calls: readonly Call[], number: number): boolean {
  const asks = (name: string, from: (param: unknown) => unknown): number =>
    calls.filter(({ method, params: [param] }) => method === name && Number(from(param)) >= number).length
  return (
    asks('eth_getLogs', (filter) => (filter as { fromBlock?: string }).fromBlock) > 0 ||
    asks('eth_getBlockByNumber', (tag) => tag) > 4
  )
}

function header(tag: unknown): object {
  const height = typeof tag === 'string' && tag.startsWith('0x') ? Number(tag) : 100_000
  return {
    ...{ number: `0x${height.toString(16)}`, hash: hashOf(height), parentHash: hashOf(height - 1) },
    ...{ timestamp: '0x1', logsBloom: bytes(256, 0), transactions: [] },
  }
}
