import pg from 'pg'

/** Without a listener, a connection that is lost between two statements would end the process. The next statement will fail. */
export class SteadyClient extends pg.Client {
  constructor(config: string | pg.ClientConfig = {}) {
    super(config)
    this.on('error', () => undefined)
  }
}
