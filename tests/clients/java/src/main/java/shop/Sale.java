package shop;

import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbBean;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondaryPartitionKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSecondarySortKey;
import software.amazon.awssdk.enhanced.dynamodb.mapper.annotations.DynamoDbSortKey;

/** A line of an order, as the index by product shows it to the enhanced client. */
@DynamoDbBean
public class Sale {
  private String pk;
  private String sk;
  private String product;
  private Integer quantity;

  @DynamoDbPartitionKey
  public String getPk() { return pk; }
  public void setPk(String pk) { this.pk = pk; }

  @DynamoDbSortKey
  public String getSk() { return sk; }
  public void setSk(String sk) { this.sk = sk; }

  @DynamoDbSecondaryPartitionKey(indexNames = "by_product")
  public String getProduct() { return product; }
  public void setProduct(String product) { this.product = product; }

  @DynamoDbSecondarySortKey(indexNames = "by_product")
  public Integer getQuantity() { return quantity; }
  public void setQuantity(Integer quantity) { this.quantity = quantity; }
}
