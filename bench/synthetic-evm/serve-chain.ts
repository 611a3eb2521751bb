import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { word } from './encode-abi.ts'
import { CHAIN_ID, SyntheticChain, type ChainShape, type SyntheticBlock } from './synthetic-chain.ts'

interface Call {
  id: number
  method: string
  params: unknown[]
}

const FETCH_LOAN_CHARS = 2 + 8 + 64
const DECIMALS = '0x313ce567'

/**
 * A node that holds a whole synthetic chain, every answer ready as text: what it costs is the reading of requests and
 * the writing of answers. The newest block is final.
 */
export async function serveSyntheticChain(
  shape: ChainShape,
  seed?: number,
): Promise<{ url: string; server: Server }> {
  const answer = answering(new SyntheticChain(shape, seed))
  const server = createServer((request, response) => {
    const parts: Buffer[] = []
    request.on('data', (part: Buffer) => parts.push(part))
    request.on('end', () => {
      const calls = JSON.parse(Buffer.concat(parts).toString('latin1')) as Call | Call[]
      const body = Buffer.from(
        Array.isArray(calls) ? `[${calls.map(answer).join(',')}]` : answer(calls),
        'latin1',
      )
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': body.length }).end(body)
    })
  })
  // A client that comes back after a pause must not meet a connection that is just being closed.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, server }
}

function answering(chain: SyntheticChain): (call: Call) => string {
  const blocks: SyntheticBlock[] = []
  const byHash = new Map<string, SyntheticBlock>()
  const ours: string[] = []
  for (const { events: _truth, ...block } of chain.blocks()) {
    const kept = { ...block, events: [] }
    blocks[block.number] = kept
    byHash.set(block.hash, kept)
    ours[block.number] = logsText(block.logs.filter(({ isOurs }) => isOurs))
  }
  const last = blocks.at(-1)
  const roles = new Map(
    Object.entries(chain.parties.contracts).map(([role, address]) => [address.toLowerCase(), role]),
  )
  const tokens = new Map(
    chain.parties.tokens.map(({ address, decimals }) => [address.toLowerCase(), decimals]),
  )

  function getLogs(filter: Record<string, unknown>): string {
    if (typeof filter['blockHash'] === 'string') {
      return `[${logsText(byHash.get(filter['blockHash'])?.logs ?? [])}]`
    }
    const texts: string[] = []
    const to = Math.min(Number(filter['toBlock']), chain.shape.blocks)
    for (let number = Math.max(1, Number(filter['fromBlock'])); number <= to; number += 1) {
      const text = ours[number] ?? ''
      if (text !== '') texts.push(text)
    }
    return `[${texts.join(',')}]`
  }

  function call({ to, data }: { to: string; data: string }, block: { blockHash: string }): string {
    const decimals = tokens.get(to.toLowerCase())
    if (decimals !== undefined && data === DECIMALS) return `"0x${word(decimals)}"`
    const role = roles.get(to.toLowerCase())
    const number = byHash.get(block.blockHash)?.number
    if (role === undefined || number === undefined || data.length !== FETCH_LOAN_CHARS) return '"0x"'
    const loan = chain.loans.get(`${role}/${BigInt(`0x${data.slice(10)}`)}`)
    const shown = loan?.answers.findLast((answer) => answer.block <= number)
    return `"0x${shown?.data ?? ''}"`
  }

  const methods: Record<string, (params: unknown[]) => string> = {
    eth_chainId: () => `"0x${CHAIN_ID.toString(16)}"`,
    eth_getCode: ([address]) => (roles.has(String(address).toLowerCase()) ? '"0x60"' : '"0x"'),
    eth_blockNumber: () => `"0x${chain.shape.blocks.toString(16)}"`,
    eth_getBlockByNumber: ([tag]) =>
      (tag === 'latest' || tag === 'finalized' ? last : blocks[Number(tag)])?.header ?? 'null',
    eth_getBlockByHash: ([hash]) => byHash.get(String(hash))?.header ?? 'null',
    eth_getLogs: ([filter]) => getLogs(filter as Record<string, unknown>),
    eth_call: ([transaction, block]) =>
      call(transaction as { to: string; data: string }, block as { blockHash: string }),
  }
  return ({ id, method, params }) => {
    const result = methods[method]?.(params)
    return result === undefined
      ? `{"jsonrpc":"2.0","id":${id},"error":{"code":-32601,"message":"the method ${method} does not exist"}}`
      : `{"jsonrpc":"2.0","id":${id},"result":${result}}`
  }
}

function logsText(logs: readonly { text: string }[]): string {
  return logs.map(({ text }) => text).join(',')
}
