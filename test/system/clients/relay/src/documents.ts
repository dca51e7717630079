/** Input of the compiler, never executed: without Relay's Babel plug-in, programs import the generated files. */
import { graphql } from 'relay-runtime'

export const feed = graphql`
  query FeedQuery($count: Int!, $words: String!) {
    ...Feed_posts @arguments(count: $count)
  }
`

export const feedPosts = graphql`
  fragment Feed_posts on Query
  @argumentDefinitions(count: { type: "Int!" }, cursor: { type: "String" })
  @refetchable(queryName: "FeedPaginationQuery") {
    postsConnection(first: $count, after: $cursor, filter: { title: { contains: $words } }, orderBy: ID_DESC)
      @connection(key: "Feed_postsConnection", filters: []) {
      __id
      totalCount
      edges {
        node {
          id
          title
          author {
            id
            name
          }
        }
      }
    }
  }
`

export const author = graphql`
  query AuthorQuery($id: ID!, $last: Int!) {
    user(id: $id) {
      name
      ...Author_posts @arguments(last: $last)
    }
  }
`

/** Pages through a list of an item from its end. */
export const authorPosts = graphql`
  fragment Author_posts on User
  @argumentDefinitions(last: { type: "Int!" }, before: { type: "String" })
  @refetchable(queryName: "AuthorPaginationQuery") {
    postsConnection(last: $last, before: $before) @connection(key: "Author_postsConnection") {
      edges {
        node {
          title
        }
      }
    }
  }
`

export const post = graphql`
  query PostQuery($id: ID!) {
    post(id: $id) {
      ...Post_whole
    }
  }
`

export const postWhole = graphql`
  fragment Post_whole on Post @refetchable(queryName: "PostRefetchQuery") {
    title
    body
  }
`

export const node = graphql`
  query NodeQuery($nodeId: ID!) {
    node(nodeId: $nodeId) {
      __typename
      nodeId
      ... on Post {
        title
      }
      ... on User {
        name
      }
    }
  }
`

export const create = graphql`
  mutation CreateMutation($title: String!, $connections: [ID!]!) {
    createPost(title: $title, authorId: 1) @prependNode(connections: $connections, edgeTypeName: "PostEdge") {
      id
      title
      author {
        id
        name
      }
    }
  }
`

export const update = graphql`
  mutation UpdateMutation($id: ID!, $title: String!) @raw_response_type {
    updatePost(id: $id, title: $title) {
      title
    }
  }
`

export const remove = graphql`
  mutation DeleteMutation($id: ID!) {
    deletePost(id: $id)
  }
`

export const added = graphql`
  subscription AddedSubscription($connections: [ID!]!) {
    newPost @prependNode(connections: $connections, edgeTypeName: "PostEdge") {
      id
      title
      author {
        id
        name
      }
    }
  }
`
