/** The opening handshake of WebSockets (RFC 6455, 4). */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { GRAPHQL_TRANSPORT_WS_PROTOCOL } from 'graphql-ws'
import { type WebSocket, WebSocketServer } from 'ws'
import { ApiError } from '../../../base/errors.ts'

export interface UpgradeRequest {
  readonly req: IncomingMessage
  readonly socket: Duplex
  readonly head: Buffer
}

/** Takes the socket over. Throws BAD_REQUEST for an invalid handshake (RFC 6455, 4.2.1). */
export type Handshake = (request: UpgradeRequest) => WebSocket | undefined

export function createHandshake(maxMessageBytes: number): Handshake {
  const server = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: protocols =>
      protocols.has(GRAPHQL_TRANSPORT_WS_PROTOCOL) ? GRAPHQL_TRANSPORT_WS_PROTOCOL : false,
  })
  const faults: Error[] = []
  server.on('wsClientError', error => faults.push(error))
  return ({ req, socket, head }) => {
    let accepted: WebSocket | undefined
    // The callback and `wsClientError` are called before `handleUpgrade` returns, because the server has no `verifyClient`.
    server.handleUpgrade(req, socket, head, opened => {
      accepted = opened
    })
    const fault = faults.pop()
    if (fault === undefined) return accepted
    const message = `The WebSocket handshake is invalid: ${fault.message}.`
    throw new ApiError('BAD_REQUEST', message, { headers: { 'Sec-WebSocket-Version': '13' } })
  }
}
