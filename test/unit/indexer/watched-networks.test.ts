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
