import t from 'tap'
import { openNetworks, refuseCollisions } from '../../../indexer/watched-networks.ts'
import { parseNetworks } from '../../../shared/config/config.ts'
import { ConfigError } from '../../../shared/errors.ts'

const ADDRESS = `0x${'11'.repeat(20)}`

function open(networkId: string, idPrefix: string | null): ReturnType<typeof openNetworks> {
  const erc20Loans = { address: ADDRESS, idPrefix }
  const network = { blockchain: 'TEST', networkId, rpcUrls: ['http://127.0.0.1:1'], erc20Loans }
  return openNetworks(parseNetworks({ evm: [network] }, 'test', {}), () => undefined)
}

void t.test('a database that holds another network’s loans under the same ids is refused', (t) => {
  const indexed = open('31337', null).map(({ network, watched }) => ({ network, watched }))
  t.throws(() => refuseCollisions(open('1', null), indexed), ConfigError)
  t.throws(() => refuseCollisions(open('1', null), indexed), /evm:31337 with the same ids as those of evm:1/)
  t.doesNotThrow(() => refuseCollisions(open('1', 'main'), indexed), 'a prefix keeps them apart')
  t.doesNotThrow(() => refuseCollisions(open('31337', null), indexed), 'a network goes on with its own')
  t.doesNotThrow(() => refuseCollisions(open('1', null), []))
  t.end()
})

void t.test('deployments of one chain that changed places are refused', (t) => {
  const chain = (...prefixes: string[]): ReturnType<typeof openNetworks> =>
    openNetworks(
      parseNetworks(
        {
          evm: prefixes.map((idPrefix) => ({
            ...{ blockchain: 'TEST', networkId: '1', rpcUrls: ['http://127.0.0.1:1'] },
            erc20Loans: { address: `0x${(idPrefix === 'a' ? '11' : '22').repeat(20)}`, idPrefix },
          })),
        },
        'test',
        {},
      ),
      () => undefined,
    )
  const indexed = chain('a', 'b').map(({ network, watched }) => ({ network, watched }))
  t.same(
    indexed.map(({ network }) => network),
    ['evm:1', 'evm:1:b'],
  )
  t.doesNotThrow(() => refuseCollisions(chain('a', 'b'), indexed))
  t.throws(() => refuseCollisions(chain('b', 'a'), indexed), /in the order in which they were first listed/)
  t.end()
})

void t.test('channels claim no loan ids, whatever is configured or was indexed', (t) => {
  const filecoin = { networkId: 'testnet', rpcUrls: ['http://127.0.0.1:1/rpc/v1'], startEpoch: 7 }
  const [network] = openNetworks(parseNetworks({ filecoin: [filecoin] }, 'test', {}), () => undefined)
  if (network === undefined) throw new Error('no network')
  t.match(network, {
    chain: 'filecoin',
    network: 'filecoin:testnet',
    blockchain: 'FIL',
    networkId: 'testnet',
  })
  t.equal(network.source.startBlock, 7)
  const { watched } = network
  t.doesNotThrow(() => refuseCollisions(open('1', null), [{ network: 'filecoin:testnet', watched }]))
  const [{ watched: contracts } = { watched: null }] = open('31337', null)
  t.doesNotThrow(() => refuseCollisions([network], [{ network: 'evm:31337', watched: contracts }]))
  t.end()
})
