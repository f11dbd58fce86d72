// SPDX-License-Identifier: Apache-2.0
#include "stepscope/base/files/remote_name.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace stepscope {
namespace {

constexpr auto example_instant = std::chrono::system_clock::time_point(
    std::chrono::seconds(1369353600));  // 2013-05-24, 00:00 UTC

S3Account example_account() {
  return {.key_id = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};
}

TEST(RemoteName, KnowsUrlsByTheirScheme) {
  for (const char* url : {"https://host/a.json", "HTTP://host/a", "s3://bucket", "S3://bucket/key"})
    EXPECT_TRUE(is_url(url)) << url;
  for (const char* path :
       {"a.json", "/https://a", "ftp://host/a", "https:/a", "s3:", "", "https://"})
    EXPECT_FALSE(is_url(path)) << path;
}

TEST(RemoteName, ShowsNoUserAndNoQuery) {
  EXPECT_EQ(shown_name("https://me:secret@host:8080/a/b.json?X-Amz-Signature=1#part"),
            "https://host:8080/a/b.json");
  EXPECT_EQ(shown_name("https://host/a@b.json"), "https://host/a@b.json");
  EXPECT_EQ(shown_name("s3://bucket/what?.json"), "s3://bucket/what?.json");
  EXPECT_EQ(shown_name("what?.json"), "what?.json");
}

TEST(RemoteName, DividesS3NamesIntoBucketAndKey) {
  EXPECT_EQ(s3_name("s3://bucket/a/b c.json")->bucket, "bucket");
  EXPECT_EQ(s3_name("s3://bucket/a/b c.json")->key, "a/b c.json");
  EXPECT_EQ(s3_name("s3://bucket")->key, "");
  EXPECT_FALSE(s3_name("s3:///key").has_value());
}

// The example "GET Bucket (List Objects)" of AWS's description of the signature.
TEST(RemoteName, SignsAsAwsDescribesIt) {
  const RemoteRequest request =
      s3_request(example_account(), {.bucket = "examplebucket", .key = ""},
                 {{"prefix", "J"}, {"max-keys", "2"}}, example_instant);
  EXPECT_EQ(request.url, "https://examplebucket.s3.amazonaws.com/?max-keys=2&prefix=J");
  ASSERT_EQ(request.headers.size(), 3U);
  EXPECT_EQ(request.headers[0],
            "authorization: AWS4-HMAC-SHA256 "
            "Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date,"
            "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7");
  EXPECT_EQ(request.headers[2], "x-amz-date: 20130524T000000Z");
}

TEST(RemoteName, WritesKeysAndPlacesBuckets) {
  S3Account account{.region = "eu-west-1"};
  const auto url = [&](const S3Name& name) {
    const RemoteRequest request = s3_request(account, name, {}, example_instant);
    EXPECT_TRUE(request.headers.empty());
    return request.url;
  };
  EXPECT_EQ(url({"b", "a+b/ü 1.json"}),
            "https://b.s3.eu-west-1.amazonaws.com/a%2Bb/%C3%BC%201.json");
  EXPECT_EQ(url({"b.c", "k"}), "https://s3.eu-west-1.amazonaws.com/b.c/k");
  account.endpoint = "http://127.0.0.1:9000/store";
  EXPECT_EQ(url({"b", "k"}), "http://127.0.0.1:9000/store/b/k");
  EXPECT_EQ(url({"b", ""}), "http://127.0.0.1:9000/store/b");
}

TEST(RemoteName, SignsTheTokenOfASession) {
  S3Account account = example_account();
  account.token = "token";
  const RemoteRequest request = s3_request(account, {"b", "k"}, {}, example_instant);
  EXPECT_NE(request.headers[0].find("x-amz-date;x-amz-security-token"), std::string::npos);
  EXPECT_EQ(std::ranges::count(request.headers, "x-amz-security-token: token"), 1);
}

}  // namespace
}  // namespace stepscope
